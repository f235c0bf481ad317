import InboxTesting
import Postgres
import Testing

@testable import Console

/// What the pages show.
struct PageTests {
    /// Settled events of all results, failed ones with an error that an attacker wrote, and their audit.
    private func fill(_ console: RunningConsole) async throws {
        try await console.execute(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, environment)
            SELECT n, 'notification_v2', now() - interval '30 minutes' * random(), now() - interval '1 second' * n, 1, 1,
                   (ARRAY['applied', 'applied', 'rejected', 'failed']::appstore.result[])[1 + n % 4],
                   CASE WHEN n % 4 = 2 THEN 'wrong_environment' WHEN n % 4 = 3 THEN 'merge_failed' END,
                   CASE WHEN n % 4 = 3 THEN '<img src=x onerror=alert(1)>' END, 'Production'
            FROM generate_series(1, 400) AS n
            """
        )
        try await console.execute(
            """
            INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
            SELECT now(), '<script>alert(1)</script>', 'requeue', ARRAY[n, n + 1], '"><svg onload=alert(1)>', '{"x": "</td>"}'
            FROM generate_series(1, 120) AS n
            """
        )
    }

    @Test func `the numbers of the overview are those of SQL`() async throws {
        try await RunningConsole.run { console in
            try await fill(console)
            let page = try await console.page("/", try await console.logIn(as: "appstore_viewer"))
            let counts = try await console.database.lines("SELECT result || ' ' || count(*) FROM appstore.outcomes GROUP BY result")
            #expect(counts.count == 3)
            for count in counts {
                let parts = count.split(separator: " ")
                let cell = "\(parts[0])</a></td><td class=\"number\">\(parts[1])</td>"
                #expect(page.contains(cell), "\(count)")
            }
            #expect(page.contains("wrong_environment (100)") && page.contains("merge_failed (100)"))
            #expect(page.contains("0 of 0 endpoints are well") && page.contains("The feed is off."))
            #expect(page.contains("<svg") && page.contains("Show numbers"))
        }
    }

    @Test func `attention shows what failed, and the text of an attacker as text`() async throws {
        try await RunningConsole.run { console in
            try await fill(console)
            let page = try await console.page("/attention", try await console.logIn(as: "appstore_viewer"))
            #expect(page.contains("Failed events (20+)") && page.contains("&lt;img src=x onerror=alert(1)&gt;"))
            #expect(!page.contains("<img"))
            #expect(page.matches(of: /"\/events\/\d+"/).count == 20)
        }
    }

    @Test func `attention shows which tokens for outside purchases are due within two days`() async throws {
        try await RunningConsole.run { console in
            try await console.execute(
                """
                INSERT INTO appstore.external_purchase_tokens (environment, external_purchase_id, bundle_id, token_creation_date, subtype, signed_date,
                    payload_hash, last_event_id, first_signed_date, first_event_id)
                SELECT 'Production', id, 'com.example.shop', now() - days * interval '1 day', 'CREATED', now(), 'h', 7, now(), 7
                FROM (VALUES ('late <b>', 11), ('soon', 9), ('another time', 1)) AS t (id, days)
                """
            )
            let page = try await console.page("/attention", try await console.logIn(as: "appstore_viewer"))
            #expect(page.contains("External purchase tokens (2)") && page.contains("late &lt;b&gt;") && page.contains("soon"))
            #expect(!page.contains("another time"))
        }
    }

    @Test func `the audit is paged by its entries, forwards and back`() async throws {
        try await RunningConsole.run { console in
            try await fill(console)
            let cookie = try await console.logIn(as: "appstore_viewer")
            func ids(_ page: String) -> [Int] {
                page.matches(of: /<tr><td class="number">(\d+)</).compactMap { Int($0.output.1) }
            }
            let first = try await console.page("/audit", cookie)
            #expect(ids(first) == Array((97...121).reversed()) && !first.contains("newer"))
            let second = try await console.page("/audit?before=97", cookie)
            #expect(ids(second) == Array((72...96).reversed()) && second.contains("/audit?after=96"))
            let last = try await console.page("/audit?before=22", cookie)
            #expect(ids(last) == Array((1...21).reversed()) && !last.contains("older"))
            #expect(try await ids(console.page("/audit?after=96", cookie)) == ids(first))
            #expect(try await ids(console.page("/audit?action=begin_console_session", cookie)) == [121])
            #expect(!first.contains("<script>alert") && !first.contains("<svg onload"))
            #expect(first.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
        }
    }

    @Test func `health shows the findings with what to do`() async throws {
        try await RunningConsole.run { console in
            let page = try await console.page("/health", try await console.logIn(as: "appstore_viewer"))
            #expect(page.contains("&lt;b&gt;down&lt;/b&gt;") && page.contains("start it") && page.contains("failure"))
        }
    }

    @Test func `a page says how to ask for the same elsewhere, and quotes what it is about`() {
        let user = "o'neil; DROP TABLE x; --\n"
        let psql: PsqlText = "SELECT appstore.explain_customer(\(user))"
        #expect(psql.text == "SELECT appstore.explain_customer('o''neil; DROP TABLE x; -- ')")
        let command: CommandText = "appstore-inbox user \(user)"
        #expect(command.text == #"appstore-inbox user 'o'\''neil; DROP TABLE x; -- '"#)
        #expect(("x \("plain-1.2")" as CommandText).text == "x plain-1.2" && ("x \("-rf")" as CommandText).text == "x '-rf'")
    }

    @Test(arguments: [(0, 0, true), (100, 100, true), (100, 110, true), (100, 89, false), (100, 111, false), (0, 1, false)])
    func `a confirmation counts while what it is about differs by at most a tenth`(seen: Int64, now: Int64, holds: Bool) {
        let form = ActionForm(values: [:], fields: [("confirmed", "yes"), ("seen", "\(seen)")])
        #expect(form.confirms(count: now) == holds)
        #expect(!ActionForm(values: [:], fields: [("seen", "\(seen)")]).confirms(count: seen))
    }

    @Test func `spans and prices are written for people`() {
        #expect(gap(.seconds(2 * 86_400 + 8 * 3600 + 59)) == "2 d 8 h")
        #expect(gap(.seconds(61)) == "1 min 1 s" && gap(.milliseconds(12)) == "12 ms" && gap(.seconds(3600)) == "1 h")
        #expect(grouped(1_234_567) == "1,234,567" && grouped(-1000) == "−1,000" && counted(10_000) == "10,000+")
    }

    @Test func `files and pages are within their budgets`() async throws {
        let assets = Assets()
        #expect(assets.styles.bytes.count <= 12 * 1024)
        #expect(assets.script.bytes.count <= 4 * 1024)
        #expect(!String(decoding: assets.styles.bytes, as: UTF8.self).contains("url("))
        try await RunningConsole.run { console in
            try await fill(console)
            let cookie = try await console.logIn(as: "appstore_operator")
            var largest = 0
            for path in ["/", "/attention", "/audit", "/sessions", "/health"] {
                let page = try await console.page(path, cookie)
                largest = max(largest, page.utf8.count)
                #expect(page.utf8.count <= 40 * 1024, "\(path): \(page.utf8.count)")
                #expect(!page.contains("<style") && page.matches(of: /<[^>]* (style|on[a-z]+)=/).isEmpty, "\(path)")
                #expect(page.matches(of: /<script/).count == 1)
            }
            #expect(largest + assets.all.reduce(0) { $0 + $1.bytes.count } <= 60 * 1024)
        }
    }
}
