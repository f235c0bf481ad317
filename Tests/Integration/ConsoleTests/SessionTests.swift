import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// How people log in, and when their sessions end.
struct SessionTests {
    @Test(arguments: [("appstore_viewer", "viewer"), ("appstore_operator", "operator")])
    func `a link logs in once, with the person and the role of the database`(user: String, role: String) async throws {
        try await RunningConsole.run { console in
            let token = try await console.token(as: user)
            // Looking at the link uses nothing up.
            for _ in 1...2 {
                let asked = try await console.send("GET", "/login?token=\(token)")
                #expect(asked.status == 200 && asked.body.contains("value=\"\(token)\""))
            }
            let first = try await console.send("POST", "/login", fields: RunningConsole.sameOrigin, form: "token=\(token)")
            #expect(first.status == 303 && first.headers["location"] == "/")
            let cookie = try #require(first.headers["set-cookie"])
            #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict") && cookie.contains("; Path=/"))
            let page = try await console.page("/", String(cookie.prefix { $0 != ";" }))
            #expect(page.contains("<bdi>\(user)</bdi> · \(role)"))
            let second = try await console.send("POST", "/login", fields: RunningConsole.sameOrigin, form: "token=\(token)")
            #expect(second.status == 403 && second.headers["set-cookie"] == nil)
            #expect(
                try await console.database.lines("SELECT actor || ' ' || action FROM appstore.audit_log") == [
                    "\(user) begin_console_session"
                ]
            )
        }
    }

    @Test func `a link works for 60 seconds`() async throws {
        try await RunningConsole.run { console in
            let token = try await console.token(as: "appstore_viewer")
            let left =
                "SELECT (expires_at - clock_timestamp() BETWEEN interval '50 seconds' AND interval '60 seconds')::text FROM appstore.console_logins"
            #expect(try await console.database.lines("\(unsafeRaw: left)") == ["true"])
            try await console.execute("UPDATE appstore.console_logins SET expires_at = clock_timestamp()")
            let late = try await console.send("POST", "/login", fields: RunningConsole.sameOrigin, form: "token=\(token)")
            #expect(late.status == 403)
            #expect(try await console.database.lines("SELECT session_id::text FROM appstore.console_sessions") == [])
        }
    }

    @Test func `neither the token nor the secret is in the database`() async throws {
        try await RunningConsole.run { console in
            let token = try await console.token(as: "appstore_viewer")
            let cookie = try await console.logIn(as: "appstore_viewer")
            let secret = try #require(cookie.split(separator: "=").last)
            let all = try await console.database.lines(
                "SELECT l::text FROM appstore.console_logins AS l UNION ALL SELECT s::text FROM appstore.console_sessions AS s"
            ).joined()
            #expect(!all.isEmpty && !all.contains(token) && !all.contains(secret))
            #expect(!console.log.text.contains(token) && !console.log.text.contains(secret))
        }
    }

    @Test(arguments: [
        "UPDATE appstore.console_sessions SET expires_at = clock_timestamp()",
        "UPDATE appstore.console_sessions SET ended_at = clock_timestamp(), ended_by = 'someone'",
        "REVOKE appstore_operator FROM PERSON", "DELETE FROM appstore.console_sessions",
    ])
    func `a session ends by time, by an operator, and with the role`(end: String) async throws {
        try await RunningConsole.run { console in
            let person = "console_test_\(Int.random(in: 0 ... .max))"
            try await console.execute("CREATE ROLE \(unsafeRaw: person) LOGIN IN ROLE appstore_operator")
            let cookie = try await console.logIn(as: person)
            #expect(try await console.page("/sessions", cookie).contains(person))
            try await console.execute("\(unsafeRaw: end.replacing("PERSON", with: person))")
            let answer = try await console.send("GET", "/sessions", cookie: cookie)
            #expect(answer.status == 401 && !answer.body.contains(person))
            try await console.execute("DROP ROLE \(unsafeRaw: person)")
        }
    }

    @Test func `logging out ends the session, also for a copy of the cookie`() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.logIn(as: "appstore_viewer")
            let out = try await console.send("POST", "/logout", cookie: cookie, fields: RunningConsole.sameOrigin, form: "")
            #expect(out.status == 200 && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
            #expect(try await console.send("GET", "/", cookie: cookie).status == 401)
            #expect(try await audit(console) == ["appstore_viewer begin_console_session", "appstore_viewer log_out_of_console"])
        }
    }

    private func audit(_ console: RunningConsole) async throws -> [String] {
        try await console.database.lines("SELECT actor || ' ' || action FROM appstore.audit_log ORDER BY audit_id")
    }

    @Test func `a browser that logs in again has ended its former session`() async throws {
        try await RunningConsole.run { console in
            let former = try await console.logIn(as: "appstore_viewer")
            let wrong = try await console.send("POST", "/login", cookie: former, fields: RunningConsole.sameOrigin, form: "token=x")
            #expect(wrong.status == 403)
            #expect(try await console.send("GET", "/", cookie: former).status == 200)
            let token = try await console.token(as: "appstore_operator")
            let again = try await console.send("POST", "/login", cookie: former, fields: RunningConsole.sameOrigin, form: "token=\(token)")
            #expect(again.status == 303)
            #expect(try await console.send("GET", "/", cookie: former).status == 401)
            #expect(try await audit(console).last == "appstore_viewer log_out_of_console")
        }
    }

    @Test func `a person has at most ten links that are not used`() async throws {
        try await RunningConsole.run { console in
            for _ in 1...10 { _ = try await console.token(as: "appstore_viewer") }
            let error = await #expect(throws: PostgresError.self) { try await console.token(as: "appstore_viewer") }
            #expect(error?.hint == "Use one, or wait for 60 seconds.", "\(error?.description ?? "")")
            _ = try await console.token(as: "appstore_operator")
        }
    }

    @Test func `an operator ends the session of another after a confirmation, and the audit names who did it`() async throws {
        try await RunningConsole.run { console in
            let viewer = try await console.logIn(as: "appstore_viewer")
            let admin = try await console.logIn(as: "appstore_operator")
            let asked = try await console.send("POST", "/sessions/1/end", cookie: admin, fields: RunningConsole.sameOrigin, form: "")
            #expect(asked.status == 200 && asked.body.contains("End session 1?"))
            #expect(try await console.send("GET", "/", cookie: viewer).status == 200)
            let done = try await console.send(
                "POST",
                "/sessions/1/end",
                cookie: admin,
                fields: RunningConsole.sameOrigin,
                form: "confirmed=yes"
            )
            #expect(done.status == 303)
            #expect(try await console.send("GET", "/", cookie: viewer).status == 401)
            let notice = try #require(done.headers["set-cookie"]).prefix { $0 != ";" }
            #expect(try await console.page("/sessions", "\(admin); \(notice)").contains("Session 1 has ended."))
            let audit = try await console.database.lines(
                "SELECT actor || ' ' || action FROM appstore.audit_log ORDER BY audit_id DESC LIMIT 1"
            )
            #expect(audit == ["appstore_operator end_console_session"])
        }
    }

    @Test func `only members of viewer and operator get a link, and the console's own role gets none`() async throws {
        try await RunningConsole.run { console in
            for user in ["appstore_worker", "appstore_console"] {
                await #expect(throws: PostgresError.self) { try await console.token(as: user) }
            }
        }
    }

    @Test func `the setting of the actor is believed only of the console's role`() async throws {
        try await RunningConsole.run { console in
            let acted: Statement = "SELECT set_config('appstore.actor', 'mallory', false)"
            for (user, expected) in [("appstore_console", "mallory"), ("postgres", "postgres")] {
                let found = try await console.database.withConnection(user: user) { connection in
                    _ = try await connection.query(acted)
                    if user == "appstore_console" { _ = try await connection.query("SET ROLE appstore_operator") }
                    _ = try await connection.query(
                        "SELECT appstore.make_api_key(sha256(convert_to(\(user), 'UTF8')), \(user), NULL, '{Production}', '{orders:read}')"
                    )
                    return user
                }
                #expect(found == user)
                let actors = try await console.database.lines("SELECT actor FROM appstore.audit_log ORDER BY audit_id DESC LIMIT 1")
                #expect(actors == [expected])
            }
        }
    }
}
