import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

@testable import Console

/// Who may do what, and what every answer says to the browser.
struct SecurityTests {
    private static let pages = ConsolePages(health: { [] })

    /// A path in the place of a template.
    private static func path(_ template: String) -> String {
        "/" + template.split(separator: "/").map { $0.hasPrefix("{") ? "1" : $0 }.joined(separator: "/")
    }

    /// Header fields of a form that no page of the console sent.
    static let foreign: [[String: String]] = [
        [:], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
        ["Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"], ["Origin": "https://evil.example"], ["Origin": "null"],
        ["Origin": "http://127.0.0.1:1"], ["Referer": "http://127.0.0.1/"],
    ]

    @Test(arguments: foreign)
    func `a form of another origin does nothing, whatever it would do`(fields: [String: String]) async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.logIn(as: "appstore_operator")
            for path in Self.pages.actions.map({ Self.path($0.path) }) + ["/logout"] {
                let answer = try await console.send("POST", path, cookie: cookie, fields: fields, form: "confirmed=yes&note=x&reason=x")
                #expect(answer.status == 403, "\(path) \(fields)")
            }
            let token = try await console.token(as: "appstore_viewer")
            #expect(try await console.send("POST", "/login", fields: fields, form: "token=\(token)").status == 403)
            #expect(try await console.send("GET", "/", cookie: cookie).status == 200)
            let audit = try await console.database.lines("SELECT action FROM appstore.audit_log")
            #expect(audit == ["begin_console_session"])
        }
    }

    @Test func `a browser without Sec-Fetch-Site is known by its origin`() async throws {
        try await RunningConsole.run { console in
            let token = try await console.token(as: "appstore_viewer")
            let fields = ["Origin": "http://127.0.0.1:\(console.port)"]
            #expect(try await console.send("POST", "/login", fields: fields, form: "token=\(token)").status == 303)
        }
    }

    @Test func `a viewer can use no action, and a stranger neither pages nor actions`() async throws {
        try await RunningConsole.run { console in
            let viewer = try await console.logIn(as: "appstore_viewer")
            for action in Self.pages.actions {
                let path = Self.path(action.path)
                let form = "confirmed=yes&note=x&reason=x&event=1"
                let refused = try await console.send("POST", path, cookie: viewer, fields: RunningConsole.sameOrigin, form: form)
                #expect(refused.status == 403, "\(path)")
                let stranger = try await console.send("POST", path, fields: RunningConsole.sameOrigin, form: form)
                #expect(stranger.status == 401, "\(path)")
            }
            for page in Self.pages.pages {
                for cookie in [nil, "appstore-console=", "appstore-console=\(String(repeating: "A", count: 43))"] as [String?] {
                    let refused = try await console.send("GET", Self.path(page.path), cookie: cookie)
                    #expect(refused.status == 401, "\(page.path) \(cookie ?? "")")
                }
            }
            #expect(try await console.database.lines("SELECT DISTINCT action FROM appstore.audit_log") == ["begin_console_session"])
        }
    }

    @Test func `the database refuses what the console would let through`() async throws {
        try await RunningConsole.run { console in
            try await console.database.withConnection(user: "appstore_console") { connection in
                for statement in [
                    "SELECT FROM appstore.outcomes", "SELECT FROM appstore.console_sessions", "SELECT appstore.show_body(1, 'x')",
                    "SELECT appstore.requeue_event(1)", "SELECT body FROM appstore.inbox",
                ] {
                    await #expect(throws: PostgresError.self, "\(statement)") { try await connection.query("\(unsafeRaw: statement)") }
                }
            }
        }
    }

    @Test func `each answer has the header fields, refusals included`() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.logIn(as: "appstore_viewer")
            let styles = Assets().styles.path
            let answers = [
                try await console.send("GET", "/", cookie: cookie), try await console.send("GET", "/"),
                try await console.send("GET", "/nowhere"), try await console.send("PUT", "/audit", cookie: cookie, form: ""),
                try await console.send("HEAD", "/audit", cookie: cookie), try await console.send("GET", styles),
                try await console.send("POST", "/logout", cookie: cookie, form: ""),
                try await console.send("GET", "/", host: "evil.example"),
                try await console.send("GET", "/login?token=x"), try await console.send("GET", "/audit?before=x", cookie: cookie),
            ]
            #expect(answers.map(\.status) == [200, 401, 404, 405, 200, 200, 403, 400, 401, 400])
            for answer in answers {
                let policy = try #require(answer.headers["content-security-policy"])
                #expect(policy.hasPrefix("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
                #expect(answer.headers["referrer-policy"] == "no-referrer")
                #expect(answer.headers["x-content-type-options"] == "nosniff")
                #expect(answer.headers["cross-origin-opener-policy"] == "same-origin")
                let isFile = answer.headers["etag"] != nil
                #expect(answer.headers["cache-control"] == (isFile ? "public, max-age=31536000, immutable" : "no-store"))
            }
        }
    }

    @Test func `a file is kept by its digest, and known again`() async throws {
        try await RunningConsole.run { console in
            for file in Assets().all {
                let first = try await console.send("GET", file.path)
                #expect(first.status == 200 && first.headers["etag"] == file.tag && file.path.contains(file.tag.dropFirst().dropLast()))
                let again = try await console.send("GET", file.path, fields: ["If-None-Match": "W/\"x\", \(file.tag)"])
                #expect(again.status == 304 && again.body.isEmpty)
            }
        }
    }

    @Test func `by https cookies are secure and of this host only`() async throws {
        try await RunningConsole.run {
            $0.origin = "https://console.example"
        } _: { console in
            let token = try await console.token(as: "appstore_viewer")
            let form = "token=\(token)"
            let wrong = try await console.send("POST", "/login", fields: ["Origin": "http://console.example"], form: form)
            #expect(wrong.status == 403)
            let answer = try await console.send("POST", "/login", fields: ["Origin": "https://console.example"], form: form)
            let cookie = try #require(answer.headers["set-cookie"])
            #expect(cookie.hasPrefix("__Host-appstore-console=") && cookie.contains("; Secure") && cookie.contains("; Path=/"))
            #expect(answer.headers["strict-transport-security"] != nil)
        }
    }

    @Test func `a read-only console shows no forms and takes none`() async throws {
        try await RunningConsole.run {
            $0.isReadOnly = true
        } _: { console in
            let cookie = try await console.logIn(as: "appstore_operator")
            let page = try await console.page("/sessions", cookie)
            #expect(page.contains("read-only") && !page.contains("/end\""))
            for action in Self.pages.actions {
                let path = Self.path(action.path)
                let answer = try await console.send("POST", path, cookie: cookie, fields: RunningConsole.sameOrigin, form: "confirmed=yes")
                #expect(answer.status == 403 && answer.body.contains("read-only"), "\(path)")
            }
        }
    }

    @Test func `a proxy's word counts for the people of the file only, and each request asks the file again`() async throws {
        let names = try TrustedNames("# people\nalice operator bodies\nbob viewer\n")
        try await RunningConsole.run {
            $0.proxy = ConsoleServer.Proxy(field: "x-forwarded-user") { names }
        } _: { console in
            let asks: [([String: String], Int)] = [
                (["X-Forwarded-User": "bob"], 200), (["X-Forwarded-User": "mallory"], 401), ([:], 401),
                (["X-Forwarded-User": "bob, alice"], 401),
            ]
            for (fields, status) in asks {
                let answer = try await console.send("GET", "/audit", fields: fields)
                #expect(answer.status == status, "\(fields)")
            }
            let end = "/sessions/1/end"
            let bob = RunningConsole.sameOrigin.merging(["X-Forwarded-User": "bob"]) { $1 }
            #expect(try await console.send("POST", end, fields: bob, form: "confirmed=yes").status == 403)
            #expect(try await console.send("GET", "/login?token=x", fields: bob).status == 404)
        }
        #expect(throws: TrustedNames.InvalidLine.self) { try TrustedNames("alice admin") }
        #expect(throws: TrustedNames.InvalidLine.self) { try TrustedNames("alice viewer\nalice operator") }
        #expect(names["alice"] == ConsolePerson(name: "alice", role: .operator, showsBodies: true))
    }

    @Test func `a form that is too large, or none, is refused`() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.logIn(as: "appstore_operator")
            let long = "confirmed=\(String(repeating: "x", count: 5000))"
            #expect(
                try await console.send("POST", "/sessions/1/end", cookie: cookie, fields: RunningConsole.sameOrigin, form: long).status
                    == 400
            )
            let huge = String(repeating: "x", count: 70_000)
            #expect(
                try await console.send("POST", "/sessions/1/end", cookie: cookie, fields: RunningConsole.sameOrigin, form: huge).status
                    == 413
            )
            let json = RunningConsole.sameOrigin.merging(["Content-Length": "0"]) { $1 }
            #expect(try await console.send("POST", "/sessions/1/end", cookie: cookie, fields: json).status == 400)
        }
    }
}
