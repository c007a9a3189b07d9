"""The programming languages whose definitions are found: the grammar of each, and what defines a name in it.

In a query, ``@definition`` is what has a name, ``@name`` is the name, ``@owner`` is the type that a function is written
for but not inside of, ``@whole`` is a definition with what is written around it, such as decorators, unless it has
several definitions, and ``@remark`` is what belongs to the definition below it.
"""

from __future__ import annotations

from typing import NamedTuple


class Grammar(NamedTuple):
    """The package of a grammar, the function of it that gives the language, and the query for definitions."""

    package: str
    query: str
    function: str = "language"


def _named(*kinds: str) -> str:
    """A query for nodes of these kinds that have a name."""
    return " ".join(f"({kind} name: (_) @name) @definition" for kind in kinds)


_FUNCTION = "[(arrow_function) (function_expression)]"
_SCRIPT = (
    _named("function_declaration", "generator_function_declaration", "class_declaration", "method_definition")
    + f"""
(lexical_declaration . (variable_declarator name: (_) @name value: {_FUNCTION})) @definition
(variable_declaration . (variable_declarator name: (_) @name value: {_FUNCTION})) @definition
(expression_statement (assignment_expression left: (_) @name right: {_FUNCTION})) @definition
(pair key: (_) @name value: {_FUNCTION}) @definition
(export_statement declaration: (_) @definition) @whole
(comment) @remark
"""
)
_JAVASCRIPT = _SCRIPT + f"(field_definition property: (_) @name value: {_FUNCTION}) @definition"
_TYPESCRIPT = (
    _SCRIPT
    + _named("abstract_class_declaration", "interface_declaration", "enum_declaration", "type_alias_declaration")
    + _named("internal_module", "module")
    + f"(public_field_definition name: (_) @name value: {_FUNCTION}) @definition"
)
_C = """
(function_definition declarator: (_) @name) @definition
(struct_specifier name: (_) @name body: (_)) @definition
(union_specifier name: (_) @name body: (_)) @definition
(enum_specifier name: (_) @name body: (_)) @definition
(type_definition type: (struct_specifier !name body: (_)) declarator: (_) @name) @definition
(type_definition type: (union_specifier !name body: (_)) declarator: (_) @name) @definition
(type_definition type: (enum_specifier !name body: (_)) declarator: (_) @name) @definition
(type_definition type: (_ name: (_) body: (_)) @definition) @whole
(comment) @remark
"""
_CPP = (
    _C
    + """
(class_specifier name: (_) @name body: (_)) @definition
(namespace_definition name: (_) @name) @definition
(template_declaration [(class_specifier) (struct_specifier) (function_definition)] @definition) @whole
"""
)

PYTHON = Grammar(
    "tree_sitter_python",
    _named("function_definition", "class_definition")
    + "(decorated_definition definition: (_) @definition) @whole (comment) @remark",
)
JAVASCRIPT = Grammar("tree_sitter_javascript", _JAVASCRIPT)
TYPESCRIPT = Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_typescript")
TSX = Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_tsx")
JAVA = Grammar(
    "tree_sitter_java",
    _named("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
    + _named("annotation_type_declaration", "method_declaration", "constructor_declaration")
    + "(block_comment) @remark (line_comment) @remark",
)
C = Grammar("tree_sitter_c", _C)
CPP = Grammar("tree_sitter_cpp", _CPP)
C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    _named("namespace_declaration", "class_declaration", "struct_declaration", "interface_declaration")
    + _named("enum_declaration", "record_declaration", "method_declaration", "constructor_declaration")
    + _named("property_declaration", "local_function_statement")
    + "(comment) @remark",
)
GO = Grammar(
    "tree_sitter_go",
    _named("function_declaration", "type_spec")
    + """
    (method_declaration
      receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name) @definition
    (type_declaration (type_spec) @definition) @whole
    (comment) @remark
    """,
)
RUST = Grammar(
    "tree_sitter_rust",
    _named("function_item", "struct_item", "enum_item", "union_item", "trait_item", "macro_definition")
    + """
    (mod_item name: (_) @name body: (_)) @definition
    (impl_item type: [(type_identifier) (scoped_type_identifier) (reference_type)] @name) @definition
    (impl_item type: (generic_type type: (_) @name)) @definition
    (line_comment) @remark (block_comment) @remark (attribute_item) @remark
    """,
)
RUBY = Grammar("tree_sitter_ruby", _named("class", "module", "method", "singleton_method") + "(comment) @remark")
PHP = Grammar(
    "tree_sitter_php",
    _named("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")
    + _named("function_definition", "method_declaration")
    + "(comment) @remark",
    "language_php",
)
BASH = Grammar("tree_sitter_bash", _named("function_definition") + "(comment) @remark")

GRAMMARS = {
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), JAVASCRIPT),
    ".ts": TYPESCRIPT,
    ".tsx": TSX,
    ".java": JAVA,
    ".c": C,
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), CPP),
    ".cs": C_SHARP,
    ".go": GO,
    ".rs": RUST,
    ".rb": RUBY,
    ".php": PHP,
    **dict.fromkeys((".sh", ".bash"), BASH),
}
"""The grammar for each suffix. A header may be C or C++, and C++ includes almost all of C."""
