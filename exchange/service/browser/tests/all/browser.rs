//! A browser window with the device metrics of a phone or a laptop, and checks that every page has to pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::Url;

use crate::fixture::{Fixture, password};

/// The address of ChromeDriver.
const DRIVER_VARIABLE: &str = "BROWSER_DRIVER";
/// The path of Chromium.
const CHROMIUM_VARIABLE: &str = "CHROMIUM";
/// The path of the source of axe-core.
const AXE_VARIABLE: &str = "BROWSER_AXE";
/// The folder for the screenshots of all pages.
const SCREENSHOTS_VARIABLE: &str = "BROWSER_SCREENSHOTS";

/// The longest time for which an element is awaited.
const WAIT: Duration = Duration::from_secs(10);
/// The scale of the pictures of the documentation on a laptop.
const PICTURE_SCALE: f64 = 0.625;

static AXE: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::var(AXE_VARIABLE).expect("`cargo xtask browser` sets the path of axe-core");
    fs::read_to_string(path).expect("axe-core can be read")
});

/// Returns true if ChromeDriver is running. Otherwise, reports that the test is skipped.
pub(crate) fn is_available() -> bool {
    let is_set = std::env::var_os(DRIVER_VARIABLE).is_some();
    if !is_set {
        eprintln!("skipped: run `cargo xtask browser`, which needs Chromium, ChromeDriver and npm");
    }
    is_set
}

/// The size of a window and the color scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) is_dark: bool,
}

impl Look {
    pub(crate) const PHONE: Self = Self { width: 360, is_dark: false };
    pub(crate) const LAPTOP: Self = Self { width: 1280, is_dark: false };
    pub(crate) const ALL: [Self; 4] =
        [Self::PHONE, Self { width: 360, is_dark: true }, Self::LAPTOP, Self { width: 1280, is_dark: true }];

    const fn scheme(self) -> &'static str {
        if self.is_dark { "dark" } else { "light" }
    }

    const fn height(self) -> u32 {
        if self.width < 600 { 740 } else { 800 }
    }
}

/// A command of the Chrome DevTools Protocol.
#[derive(Debug)]
struct DevToolsCommand {
    name: &'static str,
    parameters: Value,
}

impl WebDriverCompatibleCommand for DevToolsCommand {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, url::ParseError> {
        base_url.join(&format!("session/{}/goog/cdp/execute", session_id.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.name, "params": self.parameters }).to_string()))
    }
}

/// A window of Chromium that shows pages of one exchange.
pub(crate) struct Browser {
    client: Client,
    origin: String,
    look: Look,
    /// Whether pages can run scripts, which axe-core needs.
    has_scripts: bool,
}

impl Browser {
    /// Opens a window with its own cookies.
    pub(crate) async fn open_window(fixture: &Fixture, look: Look) -> Self {
        Self::with_preferences(fixture, look, json!({}), true).await
    }

    /// Opens a window in which pages cannot run scripts.
    pub(crate) async fn without_javascript(fixture: &Fixture, look: Look) -> Self {
        let blocked = json!({ "profile.managed_default_content_settings.javascript": 2 });
        Self::with_preferences(fixture, look, blocked, false).await
    }

    async fn with_preferences(fixture: &Fixture, look: Look, preferences: Value, has_scripts: bool) -> Self {
        let driver = std::env::var(DRIVER_VARIABLE).expect("the variable is set");
        let mut options = json!({
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--hide-scrollbars",
                format!("--window-size={},{}", look.width.max(500), look.height()),
            ],
            "prefs": preferences,
        });
        if let Ok(chromium) = std::env::var(CHROMIUM_VARIABLE) {
            options["binary"] = json!(chromium);
        }
        let capabilities = json!({ "goog:chromeOptions": options, "pageLoadStrategy": "normal" });
        let Value::Object(capabilities) = capabilities else { unreachable!("an object was written above") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(&driver).await;
        let browser =
            Self { client: client.expect("Chromium starts"), origin: fixture.origin(), look, has_scripts };
        browser.set_look(look).await;
        browser
    }

    /// Emulates the width and the color scheme of a device.
    async fn set_look(&self, look: Look) {
        let metrics = json!({
            "width": look.width, "height": look.height(), "deviceScaleFactor": 1, "mobile": false,
        });
        self.send_devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        let features = json!([
            { "name": "prefers-color-scheme", "value": look.scheme() },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.send_devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    async fn send_devtools(&self, name: &'static str, parameters: Value) -> Value {
        self.client.issue_cmd(DevToolsCommand { name, parameters }).await.expect(name)
    }

    /// Emulates another device in the same window, and returns a handle for it.
    pub(crate) async fn with_look(&self, look: Look) -> Self {
        let browser = Self { client: self.client.clone(), origin: self.origin.clone(), look, ..*self };
        browser.set_look(look).await;
        browser
    }

    /// Closes the window.
    pub(crate) async fn close(self) {
        self.client.close().await.expect("the window closes");
    }

    /// Opens a page of the exchange.
    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.origin)).await.expect("the page loads");
    }

    /// Signs in on the sign-in page.
    pub(crate) async fn sign_in(&self, account: &str) {
        self.open("/sign-in").await;
        self.fill("#username", account).await;
        self.fill("#password", &password(account)).await;
        self.click("button[type=submit]").await;
        let overview = format!("{}/", self.origin).parse().expect("a valid URL");
        self.client.wait().at_most(WAIT).for_url(&overview).await.expect("the member is signed in");
        assert_eq!(self.heading().await, "Overview");
    }

    /// Returns the path and the query of the current page.
    pub(crate) async fn path(&self) -> String {
        let url = self.client.current_url().await.expect("a page is open");
        url.as_str().strip_prefix(&self.origin).expect("a page of the exchange").to_owned()
    }

    pub(crate) async fn heading(&self) -> String {
        self.text("h1").await
    }

    /// Returns the text of an element.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let started = Instant::now();
        loop {
            match self.find(selector).await.text().await {
                Ok(text) => return text,
                // A navigation replaced the page after the element was found.
                Err(error) if error.is_stale_element_reference() && started.elapsed() < WAIT => {}
                Err(error) => panic!("{selector}: {error}"),
            }
        }
    }

    /// Returns the text of the content of the page.
    pub(crate) async fn content(&self) -> String {
        self.text("main").await
    }

    pub(crate) async fn find(&self, selector: &str) -> Element {
        // A key can start a navigation, so the element may appear a moment later.
        let found = self.client.wait().at_most(WAIT).for_element(Locator::Css(selector)).await;
        found.unwrap_or_else(|error| panic!("{selector}: {error}"))
    }

    /// Returns true if an element exists.
    pub(crate) async fn has(&self, selector: &str) -> bool {
        !self.client.find_all(Locator::Css(selector)).await.expect("a valid selector").is_empty()
    }

    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let field = self.find(selector).await;
        field.clear().await.expect("the field can be cleared");
        field.send_keys(text).await.expect("the field accepts text");
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await.click().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Clicks the link or button with a text.
    pub(crate) async fn press(&self, text: &str) {
        let path = format!("//main//*[self::a or self::button][starts-with(normalize-space(), {text:?})]");
        let found = self.client.find(Locator::XPath(&path)).await;
        let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
        found.click().await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    pub(crate) async fn go_back(&self) {
        self.client.back().await.expect("there is an earlier page");
    }

    pub(crate) async fn reload(&self) {
        self.client.refresh().await.expect("the page can be loaded again");
    }

    /// Sends keys to the element that has the focus.
    pub(crate) async fn type_keys(&self, keys: &str) {
        let focused = self.client.active_element().await.expect("an element has the focus");
        focused.send_keys(keys).await.expect("the element accepts keys");
    }

    /// Presses Tab until a link, button or field with this text or id has the focus.
    pub(crate) async fn tab_to(&self, target: &str) {
        for _ in 0..60 {
            self.type_keys("\u{e004}").await;
            let focused =
                self.run("const e = document.activeElement; return [e.id, e.innerText || ''];").await;
            if focused[0] == target || focused[1].as_str().is_some_and(|text| text.trim() == target) {
                return;
            }
        }
        panic!("no element {target} can be reached with Tab");
    }

    /// Runs a script of the test in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.expect("the script runs")
    }

    /// Checks the current page: structure, width, navigation, and, in a window with scripts, the rules of
    /// axe-core.
    pub(crate) async fn check(&self) {
        let path = self.path().await;
        let look = self.look;
        let facts = self
            .run(
                "const bar = document.querySelector('.bar'); const nav = document.querySelector('.bar nav'); \
                 const wide = [...document.querySelectorAll('main *')].filter(e => \
                   e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.visually-hidden')); \
                 return { scroll: document.documentElement.scrollWidth, inner: innerWidth, \
                   bar: bar.offsetHeight, navigation: !!nav, open: nav ? nav.offsetHeight > 0 : false, \
                   current: nav ? nav.querySelectorAll('[aria-current]').length : 0, \
                   tops: nav ? new Set([...nav.querySelectorAll('a')].map(a => a.offsetTop)).size : 0, \
                   headings: document.querySelectorAll('h1').length, language: document.documentElement.lang, \
                   wide: wide.map(e => e.outerHTML.slice(0, 120)), scripts: document.scripts.length };",
            )
            .await;
        assert_eq!(facts["wide"], json!([]), "{path} {look:?}: elements are wider than the page");
        assert!(facts["scroll"].as_i64() <= facts["inner"].as_i64(), "{path} {look:?}: {facts}");
        assert_eq!((&facts["headings"], &facts["scripts"]), (&json!(1), &json!(0)), "{path}");
        if facts["navigation"] == json!(true) {
            if look.width >= 1280 {
                assert_eq!(facts["tops"], json!(1), "{path}: the navigation is one line");
                assert!(facts["bar"].as_i64() < Some(70), "{path}: {facts}");
            } else {
                assert_eq!(facts["open"], json!(false), "{path}: the menu is closed at first");
            }
        }
        if !self.has_scripts {
            return;
        }
        let violations = self.find_violations().await;
        assert!(violations.is_empty(), "{path} {look:?}:\n{}", violations.join("\n"));
    }

    /// Returns the violations that axe-core finds, with the elements.
    async fn find_violations(&self) -> Vec<String> {
        self.client.execute(&AXE, Vec::new()).await.expect("axe-core loads");
        let run = "const done = arguments[arguments.length - 1]; \
                   axe.run(document, { resultTypes: ['violations'] }).then( \
                     result => done(result.violations), error => done([{ id: String(error), nodes: [] }]));";
        let found = self.client.execute_async(run, Vec::new()).await.expect("axe-core runs");
        let describe = |violation: &Value| {
            let nodes = violation["nodes"].as_array().cloned().unwrap_or_default();
            let nodes: Vec<String> =
                nodes.iter().map(|node| format!("{} {}", node["html"], node["failureSummary"])).collect();
            format!("{}: {}", violation["id"], nodes.join("; "))
        };
        found.as_array().expect("a list").iter().map(describe).collect()
    }

    /// Stores a screenshot of the whole page below the folder of the run.
    pub(crate) async fn photograph(&self, name: &str) {
        let Ok(folder) = std::env::var(SCREENSHOTS_VARIABLE) else { return };
        let look = self.look;
        let height = self.run("return document.documentElement.scrollHeight;").await;
        let image = self.capture(&height, 1.0).await;
        let file = PathBuf::from(folder).join(format!("{name}-{}-{}.png", look.width, look.scheme()));
        fs::write(file, image).expect("the screenshot can be stored");
    }

    /// Checks that the documentation has a picture of the page. `UPDATE=1` replaces the picture. Fonts and times
    /// differ, so only the width and the size of the file are compared.
    pub(crate) async fn document(&self, name: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pictures").join(name);
        let scale = if self.look == Look::LAPTOP { PICTURE_SCALE } else { 1.0 };
        if std::env::var_os("UPDATE").is_some() {
            let bottom = "return Math.min(innerHeight, document.querySelector('main').lastElementChild\
                          .getBoundingClientRect().bottom + 24);";
            let image = self.capture(&self.run(bottom).await, scale).await;
            fs::create_dir_all(file.parent().expect("a folder")).expect("the folder can be created");
            fs::write(&file, image).expect("the picture can be stored");
        }
        let image = fs::read(&file).unwrap_or_else(|error| {
            panic!("{}: {error}\nhelp: run `UPDATE=1 cargo xtask browser pictures`", file.display())
        });
        assert!(image.len() < 60_000, "{name} has {} bytes", image.len());
        let width = image.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        assert_eq!(width.map(f64::from), Some(f64::from(self.look.width) * scale), "{name}");
    }

    /// Takes a picture of the page from the top to a height.
    async fn capture(&self, height: &Value, scale: f64) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": self.look.width, "height": height, "scale": scale });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.send_devtools("Page.captureScreenshot", parameters).await;
        STANDARD.decode(shot["data"].as_str().expect("an image")).expect("valid base64")
    }
}
