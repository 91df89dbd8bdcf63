"""A headless Chromium behind the distribution's chromedriver, by the W3C's WebDriver protocol.

The client uses HTTP and JSON directly and has no network access.
"""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from manip_dyn.viewer import picture

FLAGS = (
    *picture.FLAGS,
    "--mute-audio",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--disable-gpu-rasterization",
)
FRAMES = 1
"""Frames per second; rendering is slow without a graphics card."""

NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""Key of an element in the protocol."""
TIMEOUT = 600.0


def missing():
    """Return the name of a missing program with a hint, or ""."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install chromium chromium-driver"
    return ""


def drawn(frames):
    """Return JavaScript that limits the frames per second of a page."""
    wait = 1000 // frames
    return f"requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), {wait});"


class Chromium:
    """A browser with one page."""

    def __init__(self, folder, width=1280, height=800):
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, text=True
        )
        line = next(text for text in self._driver.stdout if "started successfully" in text)
        self._url = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}/session"
        flags = [
            *FLAGS,
            NO_NETWORK,
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
        ]
        options = {"binary": shutil.which("chromium"), "args": flags}
        if width < 500:  # narrower than the minimum of a window
            metrics = {"width": width, "height": height, "pixelRatio": 1}
            options["mobileEmulation"] = {"deviceMetrics": metrics}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        capabilities["timeouts"] = {
            "script": round(1e3 * TIMEOUT),
            "pageLoad": round(1e3 * TIMEOUT),
        }
        session = self._send("", {"capabilities": {"alwaysMatch": capabilities}})
        self._url += f"/{session['sessionId']}"
        script = {
            "cmd": "Page.addScriptToEvaluateOnNewDocument",
            "params": {"source": drawn(FRAMES)},
        }
        self._send("/goog/cdp/execute", script)

    def close(self):
        """End the browser and its driver."""
        try:
            self._send("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._driver.stdout.close()

    def open(self, url):
        """Load a page."""
        self._send("/url", {"url": url})

    def run(self, script, *arguments):
        """Run JavaScript and return its result."""
        return self._send("/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, xpath):
        """Return all elements that match an XPath expression."""
        elements = self._send("/elements", {"using": "xpath", "value": xpath})
        return [element[ELEMENT] for element in elements]

    def click(self, element):
        """Click on the middle of an element."""
        self._send(f"/element/{element}/click", {})

    def clicked(self, xpath):
        """Click on the last element that matches; return whether it was possible."""
        return self._applied(xpath, self.click)

    def typed(self, xpath, text):
        """Type into the last element that matches; return whether it was possible."""
        return self._applied(xpath, lambda element: self.type(element, text))

    def _applied(self, xpath, use):
        try:
            use(self.find(xpath)[-1])
        except (AssertionError, IndexError):
            return False  # missing, not yet drawn, or covered
        return True

    def type(self, element, text):
        """Type into an element."""
        self._send(f"/element/{element}/value", {"text": text})

    def attribute(self, element, name):
        """Return an attribute of an element."""
        return self._send(f"/element/{element}/attribute/{name}", method="GET")

    def choose(self, label, option):
        """Choose an option of the dropdown with a label."""
        (field,) = self.find(f"//label[normalize-space()='{label}']/following::input[1]")
        self.click(field)
        entry = f"//*[@role='option'][normalize-space()='{option}']"
        self.click(self.until(lambda: self.find(entry), f"no option {option}")[0])

    def screenshot(self):
        """Return the visible page as the bytes of a PNG file."""
        return base64.b64decode(self._send("/screenshot", method="GET"))

    def log(self):
        """Return the messages on the console since the last call."""
        return self._send("/se/log", {"type": "browser"})

    def until(self, condition, what):
        """Wait until a condition holds and return its value."""
        deadline = time.monotonic() + TIMEOUT
        while not (value := condition()):
            assert time.monotonic() < deadline, f"timed out: {what}; {self.log()}"
            time.sleep(0.1)
        return value

    def _send(self, path, content=None, method=None):
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(
            self._url + path, body, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:  # the response contains the reason
            raise AssertionError(json.load(error)["value"]["message"]) from error
