// A canvas as sharp as the screen, and the colours of the style sheet.

export const prepare = (canvas) => {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const across = Math.max(1, Math.round(width * ratio)), down = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
};

export const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "soft", "line", "blue", "blue-soft", "leaving", "gone", "tau", "hit", "scored"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
};

export const font = (size, weight = 400) => `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;

// Text that is shortened to fit.
export const fit = (pen, text, width) => {
  if (pen.measureText(text).width <= width) return text;
  let least = 0, most = text.length;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) least = middle;
    else most = middle - 1;
  }
  return `${text.slice(0, least)}…`;
};

// Round numbers between two limits.
export const ticks = (low, high, about) => {
  const raw = (high - low) / Math.max(1, about), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((one) => one * power >= raw) * power;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Math.abs(tick) < step / 2 ? 0 : tick);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
};
