import HTML

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
