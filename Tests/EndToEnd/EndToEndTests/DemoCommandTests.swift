import EndToEndTesting
import Foundation
import Postgres
import Testing

extension EndToEndInterfaces {
    /// The scenarios of `deploy/demo`.
    @Suite struct DemoCommandTests {
        @Test(arguments: [
            (["--help"], 0, "usage: deploy/demo [--legacy | --history] [--keep]"), (["--legacy", "-h"], 0, "usage: deploy/demo"),
            (["--nosuch"], 2, "there is no flag '--nosuch'"), (["--keep", "--stopp"], 2, "there is no flag '--stopp'"),
            (["--stop", "--keep"], 2, "--stop takes no other flag"), (["--history", "--stop"], 2, "--stop takes no other flag"),
            (["--legacy", "--history"], 2, "--legacy and --history are two demos"),
        ])
        func `deploy/demo explains its flags and names one that it does not know`(flags: [String], code: Int32, words: String) async throws
        {
            let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
            let result = try await Program.run(flags, program: root.appending(path: "deploy/demo").path)
            #expect(result.ending == .exit(code))
            #expect((code == 0 ? result.output : result.errors).contains(words), "\(result.output)\(result.errors)")
        }

        @Test func `two accounts on one Apple ID each keep what they paid for, however late it is reported`() async throws {
            let orders = [UUID(), UUID(), UUID()].map(\.uuidString)
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                for (user, no) in zip(["tom", "anna", "ben"], orders) {
                    try await sql.makeOrder(user: user, product: "pro.monthly", no: no)
                }
                let authority = installation.folder.appending(path: "ca")
                let out = installation.folder.appending(path: "life")
                let accounts = ["--account-order", orders[1], "--account-order", orders[2]]
                let demo = try await Program.run(
                    ["demo", "--ca", authority.path, "--out", out.path, "--order", orders[0]] + accounts,
                    program: BuiltProgram.labPath()
                )
                #expect(demo.ending == .exit(0), "\(demo.errors)")
                let files = try demo.output.split(separator: "\n").map { try JSONDocument(String($0)) }
                func post(_ name: String) async throws -> JSONDocument {
                    let file = try #require(files.first { $0.text("file")?.hasSuffix("\(name).json") == true }, "\(name)")
                    let body = try [UInt8](Data(contentsOf: URL(filePath: file.text("file") ?? "")))
                    #expect(try await ingest.client.post(body).status == 200)
                    return file
                }
                _ = try await installation.startWorker([
                    "APPSTORE_INBOX_APPS": "com.example.shop",
                    "APPSTORE_INBOX_EXTRA_ROOTS": "\(authority.appending(path: "root.pem").path):Production",
                ])
                var contract: String?
                let story = [
                    "first-account-bought", "first-account-expired", "second-account-bought", "second-account-renewed",
                    "first-account-renewed",
                ]
                for (count, name) in story.enumerated() {
                    contract = try await post(name).text("originalTransactionId")
                    try await sql.settled(count + 1)
                }
                let paid = try await sql.values(
                    "SELECT user_id FROM appstore.orders WHERE original_transaction_id = \(contract) ORDER BY paid_at"
                )
                #expect(paid == ["anna", "anna", "ben", "ben"])
                let entitled = try await sql.values("SELECT user_id || ' ' || active FROM appstore.entitlements")
                #expect(entitled == ["ben true"])

                _ = try await post("offer-code-bought")
                try await sql.settled(story.count + 1)
                #expect(try await sql.values("SELECT reason FROM appstore.unmatched") == ["no_user"])
                let transaction = try String(contentsOf: out.appending(path: "client-transaction.jws"), encoding: .utf8)
                let verified = try await Program.run(
                    ["verify", "--root", authority.appending(path: "root.pem").path],
                    input: Array(transaction.utf8)
                )
                #expect(try verified.json().text("kind") == "transaction")
            }
        }
    }
}
