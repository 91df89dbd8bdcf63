"""A headless Chromium behind the distribution's chromedriver, by the W3C's WebDriver protocol.

Plain HTTP and JSON: it takes no client library. Nothing is asked of any network.
"""

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
"""Pictures per second: without a graphics card each costs time."""

NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""Under which key the protocol names an element."""
TIMEOUT = 600.0


def missing():
    """Return what is missing to run the tests, or nothing."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"no {program}; expected apt-get install chromium chromium-driver"
    return ""


def drawn(frames):
    """Return JavaScript that lets a page be drawn so often, per second."""
    wait = 1000 // frames
    return f"requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), {wait});"


class Chromium:
    """A browser with one page."""

    def __init__(self, folder, width=1280, height=800):
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, text=True
        )
        line = next(each for each in self._driver.stdout if "started successfully" in each)
        self._url = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}/session"
        flags = [
            *FLAGS,
            NO_NETWORK,
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
        ]
        options = {"binary": shutil.which("chromium"), "args": flags}
        if width < 500:  # narrower than a window may be
            metrics = {"width": width, "height": height, "pixelRatio": 1}
            options["mobileEmulation"] = {"deviceMetrics": metrics}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        wanted["timeouts"] = {"script": round(1e3 * TIMEOUT), "pageLoad": round(1e3 * TIMEOUT)}
        made = self._ask("", {"capabilities": {"alwaysMatch": wanted}})
        self._url += f"/{made['sessionId']}"
        script = {
            "cmd": "Page.addScriptToEvaluateOnNewDocument",
            "params": {"source": drawn(FRAMES)},
        }
        self._ask("/goog/cdp/execute", script)

    def close(self):
        """End the browser and its driver."""
        try:
            self._ask("", method="DELETE")
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._driver.stdout.close()

    def open(self, url):
        """Load a page."""
        self._ask("/url", {"url": url})

    def run(self, script, *arguments):
        """Run JavaScript and return what it returns."""
        return self._ask("/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, xpath):
        """Return all elements by an XPath expression."""
        found = self._ask("/elements", {"using": "xpath", "value": xpath})
        return [each[ELEMENT] for each in found]

    def click(self, element):
        """Click on the middle of an element."""
        self._ask(f"/element/{element}/click", {})

    def clicked(self, xpath):
        """Click on the last of the elements by an XPath; return whether it could be."""
        return self._was_there(xpath, self.click)

    def typed(self, xpath, text):
        """Type into the last of the elements by an XPath; return whether it could be."""
        return self._was_there(xpath, lambda element: self.type(element, text))

    def _was_there(self, xpath, use):
        try:
            use(self.find(xpath)[-1])
        except (AssertionError, IndexError):
            return False  # it is not there, or not yet drawn, or something is still over it
        return True

    def type(self, element, text):
        """Type into an element."""
        self._ask(f"/element/{element}/value", {"text": text})

    def attribute(self, element, name):
        """Return an attribute of an element."""
        return self._ask(f"/element/{element}/attribute/{name}", method="GET")

    def choose(self, label, option):
        """Choose an option of the dropdown with a label."""
        (field,) = self.find(f"//label[normalize-space()='{label}']/following::input[1]")
        self.click(field)
        wanted = f"//*[@role='option'][normalize-space()='{option}']"
        self.click(self.until(lambda: self.find(wanted), f"no option {option}")[0])

    def log(self):
        """Return the messages on the console that came since the last call."""
        return self._ask("/se/log", {"type": "browser"})

    def until(self, condition, what):
        """Wait until a condition holds; return what it returned."""
        deadline = time.monotonic() + TIMEOUT
        while not (found := condition()):
            assert time.monotonic() < deadline, f"timed out: {what}; {self.log()}"
            time.sleep(0.1)
        return found

    def _ask(self, path, content=None, method=None):
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(
            self._url + path, body, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:  # why, is in what it answers
            raise AssertionError(json.load(error)["value"]["message"]) from error
