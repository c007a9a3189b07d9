// Play, pause and the slider over the steps of a story.

const STEP_MS = { "tier 0": 1400, round: 1100, rescore: 260, end: 600 };

export class Player {
  constructor({ slider, button, shape, text, count }, onMove, onSettle) {
    Object.assign(this, { slider, button, shape, text, count, onMove, onSettle });
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.steps = [];
    this.at = 0;
    this.playing = null;
    slider.addEventListener("input", () => {
      this.pause();
      this.go(Number(slider.value));
      this.onSettle(this.at);
    });
    button.addEventListener("click", () => (this.playing === null ? this.play() : this.#stopHere()));
  }

  load(steps, at) {
    this.pause();
    this.steps = steps;
    this.slider.max = String(steps.length - 1);
    this.go(Math.min(at, steps.length - 1));
  }

  // Goes to a step, or to a moment between two steps.
  go(at) {
    this.at = at;
    const step = Math.round(at);
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", `step ${step + 1} of ${this.steps.length}: ${this.steps[step].words}`);
    this.count.textContent = `${step + 1} of ${this.steps.length}`;
    this.onMove(at);
  }

  play() {
    if (this.at >= this.steps.length - 1) this.go(0);
    this.#label(true);
    let before = null, waited = 0;
    const frame = (now) => {
      const step = Math.floor(this.at), long = STEP_MS[this.steps[step].kind];
      const passed = before === null ? 0 : Math.min(now - before, 100) / long;
      before = now;
      if (this.still.matches) {
        waited += passed;
        if (waited >= 1) {
          waited = 0;
          this.go(step + 1);
        }
      } else this.go(Math.min(this.at + passed, step + 1));
      if (this.at >= this.steps.length - 1) {
        this.pause();
        this.onSettle(this.at);
      } else this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
  }

  pause() {
    if (this.playing !== null) cancelAnimationFrame(this.playing);
    this.playing = null;
    this.#label(false);
  }

  #stopHere() {
    this.pause();
    this.go(Math.round(this.at));
    this.onSettle(this.at);
  }

  #label(playing) {
    this.text.textContent = playing ? "Pause" : "Play";
    this.shape.setAttribute("d", playing ? "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z" : "M4 2.5v11l9-5.5z");
  }
}
