// Browsers start no worker for a page that is opened from disk (file://), but the search runs in one. On such a page a
// hidden frame replaces the worker: its window has the worker's three functions. Messages are copied, as between real
// workers: if both sides share an object, the page loses what was typed. On other pages nothing changes.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const source = new URL(url, document.baseURI).href
      this.waiting = []
      this.ready = false
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.say(data)
      this.inside.importScripts = (...urls) => urls.reduce(
        (before, one) => before.then(() => this.load(new URL(one, source).href)), Promise.resolve())
      this.load(source).then(() => {
        this.ready = true
        this.waiting.forEach(data => this.hand(data))
      })
    }

    load(source) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script")
        Object.assign(script, { src: source, onload: loaded, onerror: failed })
        this.inside.document.documentElement.append(script)
      })
    }

    postMessage(data) {
      if (this.ready) this.hand(data)
      else this.waiting.push(data)
    }

    hand(message) {
      const data = structuredClone(message)
      setTimeout(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })))
    }

    say(message) {
      const event = new MessageEvent("message", { data: structuredClone(message) })
      this.dispatchEvent(event)
      if (this.onmessage) this.onmessage(event)
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
