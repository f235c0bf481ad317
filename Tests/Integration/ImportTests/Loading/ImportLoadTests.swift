import InboxTesting
import Postgres
import Testing

@testable import Commands

@Suite struct ImportLoadTests {
    @Test func `the columns may come in any order, and an id counts once`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load(
                "\u{FEFF}user_id,bundle_id,original_transaction_id\r\nanna,,10\r\n\"b,\"\"e\"\"\r\nrta\",com.example.app,20\r\nanna,,10\r\n"
                    + "other,,10\r\nx,com.example.other,30\r\n"
            )
            #expect((report.items, report.repeated, report.otherApps, report.badLines) == (2, 1, 1, 1))
            #expect(report.samples.map(\.line) == [6] && report.samples[0].why.contains("another user"))
            #expect(
                try await scene.lines("SELECT concat_ws(' ', line, id, user_id) FROM appstore.import_items ORDER BY line")
                    == ["2 10 anna", "3 20 b,\"e\"\r\nrta"]
            )
            #expect(
                try await scene.lines("SELECT concat_ws(' ', items, repeated, bad_lines) FROM appstore.import_status") == ["2 1 1"]
            )
        }
    }

    @Test func `a line that cannot be imported is named, and the others are imported`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load(
                "transaction_id,environment,user_id\n10,,\n2.0E+15,,\n,,x\n30,Xcode,\n40,,\(String(repeating: "u", count: 256))\n50\n60,,\"x\"y\n"
                    + "70,,x\"y\n80,Sandbox,\n"
            )
            #expect(report.items == 2 && report.badLines == 7)
            #expect(report.samples.map(\.line) == [3, 4, 5, 6, 7, 8, 9])
            #expect(try await scene.items() == ["2 10 Production open", "10 80 Sandbox open"])
        }
    }

    @Test func `a user on a repeated line is not lost, and another environment is a contradiction`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load(
                "transaction_id,user_id,environment\n10,,\n10,anna,\n20,,Production\n20,,Sandbox\n30,berta,Sandbox\n30,berta,Sandbox\n"
            )
            #expect((report.items, report.repeated, report.badLines) == (3, 2, 1))
            #expect(report.samples.map(\.line) == [5])
            #expect(
                try await scene.lines("SELECT concat_ws(' ', line, id, user_id, environment) FROM appstore.import_items ORDER BY line")
                    == ["2 10 anna Production", "4 20 Production", "6 30 berta Sandbox"]
            )
            // The user comes with a later part of the file.
            try await scene.execute("SELECT appstore.begin_import('com.example.app', NULL, 'statuses', 'f')")
            for user in ["NULL", "carla", "dora"] {
                try await scene.execute(
                    "SELECT appstore.add_import_items(2, '{2}', '{40}', ARRAY[nullif(\(user)::text, 'NULL')], '{NULL}', '{NULL}')"
                )
            }
            #expect(try await scene.lines("SELECT user_id FROM appstore.import_items WHERE import_id = 2") == ["carla"])
        }
    }

    static let wrong: [[String?]] = [
        ["x", nil, nil], ["", nil, nil], ["10", "", nil], ["10", String(repeating: "u", count: 256), nil],
        ["10", nil, String(repeating: "r", count: 1001)],
    ]

    @Test(arguments: wrong) func `what cannot be imported is refused by the database, too`(_ line: [String?]) async throws {
        try await ImportScene.with { scene in
            try await scene.execute("SELECT appstore.begin_import('com.example.app', NULL, 'statuses', 'f')")
            let error = await #expect(throws: PostgresError.self) {
                try await scene.execute(
                    """
                    SELECT appstore.add_import_items(1, '{2}', ARRAY[\(line[0])]::text[], ARRAY[\(line[1])]::text[], '{NULL}',
                                                     ARRAY[\(line[2])]::text[])
                    """
                )
            }
            #expect(error?.message.contains("line 2") == true)
        }
    }

    @Test func `a quote without its end is told with all of its lines`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load("transaction_id,user_id\n10,\"anna\n" + (1...2000).map { "\($0)0,u\n" }.joined())
            #expect(report.samples.count == 1 && report.samples[0].line == 2)
            #expect(report.badLines == report.samples[0].lastLine - 1 && report.badLines > 100)
            #expect(report.items + report.badLines == 2001 && report.items > 500)
        }
    }

    @Test func `the same file again goes on where it was`() async throws {
        try await ImportScene.with { scene in
            let file = "transaction_id\n10\n20\n"
            #expect(try await scene.load(file).importID == 1)
            try await scene.change(to: "paused")
            let second = try await scene.load(file)
            #expect(second.importID == 1 && second.isKnown)
            #expect(try await scene.imports() == ["1 running 0 0 0 0 0 2"])
            // Of a pipe only the end tells.
            let third = try await scene.load(file, knowsDigest: false)
            #expect(third.importID == 1 && third.isKnown)
            #expect(try await scene.imports().count == 1)
            // Another question is another import.
            #expect(try await scene.load(file, depth: "history").importID == 3)
            #expect(try await scene.load(file, environment: "Sandbox").importID == 4)
            #expect(try await scene.load(file, again: true).importID == 1)
        }
    }

    @Test func `a file whose import is done is asked about again only with a flag`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.customers = [.init(["10"])] }
            try await scene.load("transaction_id\n10\n")
            try await scene.drain()
            #expect(try await scene.load("transaction_id\n10\n").isKnown)
            try await scene.drain()
            #expect(scene.apple.asked == ["10"])
            #expect(try await scene.load("transaction_id\n10\n", again: true).importID == 2)
            try await scene.drain()
            #expect(scene.apple.asked == ["10", "10"])
        }
    }

    @Test func `a file that breaks off is asked about by no worker, and is removed`() async throws {
        try await ImportScene.with { scene in
            try await scene.execute("SELECT appstore.begin_import('com.example.app', NULL, 'statuses', 'f')")
            try await scene.execute("SELECT appstore.add_import_items(1, '{2}', '{10}', '{NULL}', '{NULL}', '{NULL}')")
            try await scene.drain()
            #expect(scene.apple.asked == [])
            #expect(try await scene.imports() == [])
            #expect(try await scene.load("transaction_id\n10\n").importID == 2)
            try await scene.execute("UPDATE appstore.imports SET touched_at = now() - interval '2 hours' WHERE import_id = 1")
            try await scene.execute("SELECT appstore.expire_imports()")
            try await scene.execute("SELECT appstore.expire_imports()")
            #expect(try await scene.lines("SELECT import_id::text FROM appstore.imports") == ["2"])
            #expect(try await scene.items() == ["2 10 Production open"])
            await #expect(throws: PostgresError.self) {
                try await scene.execute("SELECT appstore.add_import_items(1, '{3}', '{30}', '{NULL}', '{NULL}', '{NULL}')")
            }
        }
    }

    @Test func `a file without a usable line is no import`() async throws {
        try await ImportScene.with { scene in
            let report = try await scene.load("transaction_id\nx\n")
            #expect(report.importID == nil && report.badLines == 1)
            #expect(try await scene.imports() == [])
        }
    }

    static let headers = [
        ("", "is empty"), ("id,user_id\n1,2\n", "no column \"id\""), ("user_id\nx\n", "original_transaction_id is missing"),
        ("transaction_id,transaction_id\n", "twice"), ("transaction_id,original_transaction_id\n", "two columns"),
        ("original_transaction_id;user_id\n", "separated by commas"), ("orginal_transaction_id\n", "did you mean original_transaction_id?"),
        ("\"transaction_id\n", "has no end"),
    ]

    @Test(arguments: headers) func `a header that cannot be used is named`(_ text: String, _ words: String) async throws {
        try await ImportScene.with { scene in
            let error = await #expect(throws: ImportColumns.Unusable.self) { try await scene.load(text) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
    }

    @Test func `misses are read by pages of lines`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id\n10\n20\n")
            try await scene.execute("UPDATE appstore.import_items SET line = 30000 WHERE id = '20'")
            try await scene.change(to: "stopped")
            let pages = try await scene.database.withConnection(user: "appstore_viewer") { connection in
                let register = ImportRegister(connection: connection)
                return [try await register.misses(of: 1, after: 0), try await register.misses(of: 1, after: ImportRegister.page)]
            }
            #expect(pages.map { $0.map(\.line) } == [[2], [30_000]])
        }
    }

    @Test func `misses are CSV that can be imported`() async throws {
        try await ImportScene.with { scene in
            try await scene.load("transaction_id,user_id\n10,\"a,\"\"\"\n")
            for _ in 1...2 {
                try await scene.drain()
                try await scene.makeDue()
            }
            let csv = try await scene.database.withConnection(user: "appstore_viewer") { connection in
                try await ImportRegister(connection: connection).misses(of: 1, after: 0).map { ImportMiss.csv($0.fields) }
            }
            #expect(csv == ["2,10,\"a,\"\"\",,unknown_to_apple,4,"])
            let report = try await scene.load(([ImportMiss.csv(ImportMiss.head)] + csv).joined(separator: "\r\n"))
            #expect((report.items, report.badLines) == (1, 0))
        }
    }
}
