import HTTPServing
import NIOCore
import NIOHTTP1
import OpenSSL

/// What all pages have: head, navigation, the chosen environment, the person, and how to ask for the same elsewhere.
struct Layout: Sendable {
    let assets: Assets
    /// Nil before anyone has logged in.
    var person: ConsolePerson?
    var area: ConsoleArea?
    var environment = "Production"
    var isReadOnly = false
    /// Whether the browser has a session that can be ended; false where a proxy names the person.
    var canLogOut = false
    /// What an action has said, once.
    var notice: String?
    /// The address of this page without the environment.
    var url = ConsoleURL()

    func document(_ page: Page) -> Markup {
        html(.lang("en")) {
            head {
                meta(.charset("utf-8"))
                meta(.name("viewport"), .content("width=device-width, initial-scale=1"))
                meta(.name("color-scheme"), .content("light dark"))
                titleElement { "\(page.title) · appstore-inbox" }
                link(.rel("stylesheet"), .href(assets.styles.url))
                link(.rel("icon"), .href(assets.icon.url))
                scriptFile(assets.script.url)
            }
            body {
                a(.class("skip"), .href(ConsoleURL().fragment("main"))) { "Skip to content" }
                banner
                main(mainAttributes(page)) {
                    h1 { page.title }
                    notice.map { text in p(.class("notice"), .role("status")) { text } }
                    page.content
                    elsewhere(page.elsewhere)
                }
                // console.js shows it.
                footer(.id("keys"), .popover) {
                    p { "/ search, j k rows, x select, Enter open, n p pages, g and o e c a h u: pages, Esc: hide this" }
                }
            }
        }
    }

    private var banner: Markup {
        header {
            if let person {
                nav(.ariaLabel("Console")) {
                    ul {
                        ConsoleArea.allCases.map { entry in
                            li { a(entryAttributes(entry)) { entry.title } }
                        }
                    }
                }
                div(.class("who")) {
                    span(.class("choice"), .role("group"), .ariaLabel("Environment")) {
                        ["Production", "Sandbox"].map { name in
                            a([.href(url.with("environment", name))] + (name == environment ? [.ariaCurrent("true")] : [])) { name }
                        }
                    }
                    span {
                        bdi { person.name }; " · \(person.role.rawValue)"; isReadOnly ? " · read-only" : ""
                    }
                    if canLogOut {
                        form(.method(.post), .action(ConsoleURL("logout"))) { button(.type(.submit)) { "Log out" } }
                    }
                }
            } else {
                strong { "appstore-inbox" }
            }
        }
    }

    private func mainAttributes(_ page: Page) -> [Attribute] {
        let attributes: [Attribute] = [.id("main"), .tabindex(-1)]
        return page.refreshSeconds.map { attributes + [.data("refresh", "\($0)")] } ?? attributes
    }

    private func entryAttributes(_ entry: ConsoleArea) -> [Attribute] {
        let url = entry.url.with("environment", environment == "Production" ? nil : environment)
        return [.href(url)] + (entry == area ? [.ariaCurrent("page")] : [])
    }

    private func elsewhere(_ same: Elsewhere) -> Markup {
        guard !same.statements.isEmpty || !same.commands.isEmpty else { return .empty }
        return details(.class("elsewhere")) {
            summary { "The same in psql and as a command" }
            (same.statements.map(\.text) + same.commands.map(\.text)).map { text in
                pre(.tabindex(0)) { code(.data("copy", "")) { text } }
            }
        }
    }
}

/// The files that pages refer to. The address of each has a digest of its content, so that browsers keep it for ever.
struct Assets: Sendable {
    struct File: Sendable {
        let url: ConsoleURL
        let path: String
        let tag: String
        let mediaType: String
        let bytes: [UInt8]

        fileprivate init(_ name: String, _ mediaType: String, _ bytes: [UInt8]) {
            let digest = Digest.sha256(bytes).prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let file = "\(digest)-\(name)"
            url = ConsoleURL("assets", file)
            path = "/assets/\(file)"
            tag = "\"\(digest)\""
            (self.mediaType, self.bytes) = (mediaType, bytes)
        }

        /// The file, or status 304 where the browser has it.
        func answer(_ request: Request) -> Response {
            let headers: HTTPHeaders = [
                "content-type": mediaType, "etag": tag, "cache-control": "public, max-age=31536000, immutable",
            ]
            let known = request.field("if-none-match")?.split(separator: ",").contains { $0.drop { $0 == " " } == tag } ?? false
            return known
                ? Response(status: .notModified, headers: headers) : Response(status: .ok, headers: headers, body: ByteBuffer(bytes: bytes))
        }
    }

    let styles = File("console.css", "text/css; charset=utf-8", EmbeddedFiles.console_css)
    let script = File("console.js", "text/javascript; charset=utf-8", EmbeddedFiles.console_js)
    let icon = File("console.svg", "image/svg+xml", EmbeddedFiles.console_svg)

    var all: [File] { [styles, script, icon] }
}

extension Confirmation {
    /// The page that asks. Its form brings back the fields, the yes, and the count that the person saw.
    func page(for form: ActionForm, at url: ConsoleURL) -> Page {
        Page(title: title, elsewhere: .nowhere) {
            explanation
            actionForm(url, button: button, isDangerous: isDangerous) {
                form.ownFields.map { hiddenField(name: $0.name, value: $0.value) }
                hiddenField(name: ActionForm.confirmedName, value: "yes")
                count.map { hiddenField(name: ActionForm.seenName, value: "\($0)") }
                fields
            }
        }
    }
}
