import AppStoreVerification
import HTTPServingTesting
import Ingest
import Postgres
import PostgresTesting
import ServiceSupport
import Testing

/// No shared secret, valid or wrong, is in a table, a log line, an answer or a metric.
@Suite(.timeLimit(.minutes(2)))
struct SecrecyTests {
    private static let right = "right-5ecret-f00d"
    private static let wrong = "wrong-5ecret-beef"
    private static let trace = "5ecret"

    @Test func `no output contains a shared secret`() async throws {
        let secrets = SharedSecrets([SampleLegacyNotification.app: [Self.right]])
        let log = CapturedLog()
        var answers = ""
        let passwords = [
            #""\#(Self.right)""#, #""right-5ecret\u002df00d""#, #""\#(Self.wrong)""#, #"{"a":"\#(Self.wrong)"}"#,
            #""\#(Self.right)","pass\u0077ord":"\#(Self.wrong)""#, #""\#(Self.wrong)","x":"#, nil,
        ]
        try await RunningServer.run(secrets: secrets, logger: log.logger, committer: { $0.commitTimeout = .seconds(2) }) { server in
            for password in passwords {
                let response = try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(password: password)))
                answers += "\(response.status) \(response.headers) \(response.body)\n"
            }
            let signed = #"{"signedPayload":"YQ.Yg.Yw","password":"\#(Self.right)"}"#
            answers += try await server.exchange(SampleLegacyNotification.post(signed)).body
            // The same while the database does not answer.
            let lock = try await TableLock(server.database)
            answers += try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(password: passwords[0]))).body
            try await lock.release()
            answers += server.registry.render()

            #expect(try await server.storedBodies().count >= 3)
            for body in try await server.storedBodies() { #expect(!String(decoding: body, as: UTF8.self).contains(Self.trace)) }
            let all = try await server.database.query(
                """
                SELECT string_agg(format('SELECT t::text FROM appstore.%I AS t', relname), ' UNION ALL ') FROM pg_class
                WHERE relnamespace = 'appstore'::regnamespace AND relkind IN ('r', 'p')
                """
            )
            let rows = try await server.database.query("\(unsafeRaw: all[0].decode(0, as: String.self))")
            let hex = Self.trace.utf8.map { String($0, radix: 16) }.joined()
            #expect(rows.count >= 3)
            for row in rows {
                let text: String = try row.decode(0)
                #expect(!text.contains(Self.trace) && !text.contains(hex))
            }
        }
        #expect(answers.contains("200 ") && answers.contains("401 ") && answers.contains("not-committed"))
        #expect(!answers.contains(Self.trace))
        #expect(log.text.contains("batch not committed"))
        #expect(!log.text.contains(Self.trace))
    }

    @Test func `a description of the secrets contains none`() {
        let secrets = SharedSecrets([SampleLegacyNotification.app: [Self.right]])
        var dumped = ""
        dump(secrets, to: &dumped)
        for text in ["\(secrets)", String(reflecting: secrets), dumped, "\([secrets])"] { #expect(!text.contains(Self.trace)) }
    }
}
