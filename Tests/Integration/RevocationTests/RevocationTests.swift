import AppStore
import InboxTesting
import OpenSSL
import Outbox
import Postgres
import StoreSimulator
import Testing

@testable import Revocation

/// Workers that learn of a revocation, and what becomes of events.
struct RevocationTests {
    private static let hour = 3600

    @Test func `a good certificate changes nothing, and is asked about at half of the answer's lifetime`() async throws {
        let scene = try await RevocationScene()
        try await scene.withWorker { worker in
            let event = try await scene.receive()
            try await worker.work()
            try await worker.ask()
            #expect(try await scene.outcome(of: event) == "applied")
            #expect(scene.responder.asked.map(\.url).sorted() == scene.authority.chain.prefix(2).flatMap(\.ocspAddresses).sorted())
            for certificate in scene.authority.chain.prefix(2) {
                #expect(try await scene.register("status", of: certificate) == "good")
                // An answer of a minute ago that holds for four hours more.
                let wait = try await scene.register("extract(epoch FROM run_at - clock_timestamp())::integer / 60", of: certificate)
                #expect(["118", "119"].contains(wait))
            }
            #expect(try await scene.register("status", of: scene.authority.root) == nil)
            try await worker.ask()
            _ = try await scene.receive()
            try await worker.work()
            try await worker.ask()
            #expect(scene.responder.asked.count == 2)
        }
    }

    @Test func `what a stolen key signed is rejected, until an operator ignores the revocation and requeues`() async throws {
        let scene = try await RevocationScene()
        try await scene.withWorker { worker in
            let earlier = try await scene.receive()
            try await worker.work()
            scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now, .keyCompromise)), about: scene.authority.leaf)
            try await worker.ask()
            let event = try await scene.receive()
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")
            let labels = "SELECT environment || ' ' || bundle_id FROM appstore.outcomes WHERE event_id = \(event)" as Statement
            #expect(try await scene.database.lines(labels) == ["Production com.example.app"])
            // What is in the ledger stays, and is listed.
            #expect(try await scene.outcome(of: earlier) == "applied")
            let listed = "SELECT event_id || ' ' || result || ' ' || crl_reason FROM appstore.revoked_events" as Statement
            #expect(try await scene.database.lines(listed) == ["\(earlier) applied key_compromise"])

            let body = try await scene.body(of: earlier)
            let signers = "SELECT count(*) || ' ' || count(DISTINCT fingerprint) FROM appstore.signers_of(\(body))" as Statement
            #expect(try await scene.database.lines(signers) == ["6 2"], "notification, transaction and renewal info; leaf and intermediate")

            // An answer of the App Store Server API holds the same kinds of payloads.
            let jws = try #require(String(decoding: body, as: UTF8.self).split(separator: "\"").last { $0.hasPrefix("ey") })
            for member in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
                let answer = Array(#"{"asked":{},"answer":{"\#(member)":"\#(jws)"}}"#.utf8)
                let signers = "SELECT count(DISTINCT fingerprint)::text FROM appstore.signers_of(\(answer))" as Statement
                #expect(try await scene.database.lines(signers) == ["2"], "\(member)")
            }

            // Requeued while nothing has changed, it is rejected again.
            try await requeue(event, in: scene)
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")

            let fingerprint = scene.authority.leaf.sha256Fingerprint
            try await scene.database.withConnection(user: "appstore_operator") { connection in
                _ = try await connection.query("SELECT appstore.ignore_revocation(\(fingerprint), note => 'Apple says it is a mistake')")
            }
            try await worker.ask()
            try await requeue(event, in: scene)
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "applied")
            let audit = "SELECT count(*)::text FROM appstore.audit_log WHERE action = 'ignore_revocation'" as Statement
            #expect(try await scene.database.lines(audit) == ["1"])
        }
    }

    private func requeue(_ event: Int64, in scene: RevocationScene) async throws {
        try await scene.database.withConnection(user: "appstore_operator") { connection in
            _ = try await connection.query("SELECT appstore.requeue_event(\(event))")
        }
    }

    @Test(arguments: [OCSPRevocation.Reason.superseded, .cessationOfOperation, .certificateHold])
    func `for other reasons only what was signed from the revocation on is rejected`(reason: OCSPRevocation.Reason) async throws {
        let scene = try await RevocationScene()
        try await scene.withWorker { worker in
            let first = try await scene.receive()
            try await worker.work()
            let revokedAt = RevocationScene.now.millisecondsSince1970 / 1000 + 60
            scene.responder.set(.init(.revoked(at: revokedAt, reason)), about: scene.authority.intermediate)
            try await worker.ask()
            let before = try await scene.receive(signedAt: RevocationScene.now.advanced(by: .milliseconds(59_999)))
            let after = try await scene.receive(signedAt: RevocationScene.now.advanced(by: .seconds(60)))
            try await worker.work()
            #expect(try await scene.outcome(of: before) == "applied")
            #expect(try await scene.outcome(of: after) == "rejected certificate_revoked")
            #expect(try await scene.outcome(of: first) == "applied")
            #expect(try await scene.database.lines("SELECT event_id::text FROM appstore.revoked_events") == [])
        }
    }

    @Test func `a later good answer ends a revocation, and an older one does not`() async throws {
        let scene = try await RevocationScene()
        let leaf = scene.authority.leaf
        try await scene.withWorker { worker in
            _ = try await scene.receive()
            try await worker.work()
            scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now - 60, .certificateHold)), about: leaf)
            try await worker.ask()
            #expect(try await scene.register("status") == "revoked")

            var old = MakeBelieveResponder.Answer()
            old.age = 3600
            scene.responder.set(old, about: leaf)
            try await scene.makeDue()
            try await worker.ask()
            #expect(try await scene.register("status || ' ' || last_error") == "revoked older_than_known")

            scene.responder.set(.init(.unknown), about: leaf)
            try await scene.makeDue()
            try await worker.ask()
            #expect(try await scene.register("status || ' ' || last_error") == "revoked unknown_to_responder")

            var recent = MakeBelieveResponder.Answer()
            recent.age = 0
            scene.responder.set(recent, about: leaf)
            try await scene.makeDue()
            try await worker.ask()
            #expect(try await scene.register("status || failures || coalesce(last_error, '-')") == "good0-")
            let event = try await scene.receive(signedAt: RevocationScene.now.advanced(by: .seconds(3600)))
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "applied")
        }
    }

    /// Answers that prove nothing, with the code that is stored.
    private static let useless: [(String, @Sendable (inout MakeBelieveResponder.Answer) -> Void)] = [
        ("answer_expired", { $0.lifetime = -1 }),
        ("answer_not_yet_valid", { $0.age = -3600 }),
        ("answer_without_next_update", { $0.hasNextUpdate = false }),
        ("responder_not_authorized", { $0.signer = .stranger }),
        ("responder_not_authorized", { $0.signer = .delegateWithoutPurpose }),
        ("malformed_answer", { $0.outcome = .answer(HTTPAnswer(status: 200, body: Array("<html>".utf8))) }),
        ("status_503", { $0.outcome = .answer(HTTPAnswer(status: 503)) }),
        ("timed_out", { $0.outcome = .failure(.timedOut) }),
        ("connection_failed", { $0.outcome = .failure(.connectionFailed) }),
        ("answer_too_large", { $0.outcome = .failure(.answerTooLarge) }),
    ]

    @Test(arguments: useless.indices)
    func `an answer that proves nothing rejects nothing, and the question is repeated`(index: Int) async throws {
        let (code, change) = Self.useless[index]
        let scene = try await RevocationScene()
        var answer = MakeBelieveResponder.Answer(.revoked(at: 0, .keyCompromise))
        change(&answer)
        for certificate in scene.authority.chain.prefix(2) { scene.responder.set(answer, about: certificate) }
        try await scene.withWorker { worker in
            _ = try await scene.receive()
            try await worker.work()
            try await worker.ask()
            #expect(try await scene.register("concat_ws(' ', status, last_error)") == code)
            #expect(try await scene.register("run_at - clock_timestamp() BETWEEN '2 minutes' AND '5 minutes'") == "true")
            let event = try await scene.receive()
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "applied")
        }
    }

    @Test func `during an outage the age grows, and the pauses too`() async throws {
        let scene = try await RevocationScene()
        for certificate in scene.authority.chain.prefix(2) {
            scene.responder.set(.failing(.failure(.timedOut)), about: certificate)
        }
        try await scene.withWorker { worker in
            let event = try await scene.receive()
            try await worker.work()
            for _ in 1...10 {
                try await worker.ask()
                try await scene.makeDue()
            }
            #expect(try await scene.register("failures") == "10")
            try await worker.ask()
            #expect(try await scene.register("run_at - clock_timestamp() BETWEEN '179 minutes' AND '6 hours'") == "true")
            try await scene.execute("UPDATE appstore.certificates SET first_seen_at = now() - interval '8 days'")
            let statistics = try await scene.statistics()
            #expect((statistics.certificates, statistics.revoked, statistics.lastError) == (2, 0, "timed_out"))
            #expect(statistics.age.map { $0 >= .seconds(8 * 86_400) && $0 < .seconds(8 * 86_400 + 60) } == true)
            #expect(try await scene.outcome(of: event) == "applied")

            for certificate in scene.authority.chain.prefix(2) { scene.responder.set(.init(), about: certificate) }
            try await scene.makeDue()
            try await worker.ask()
            let after = try await scene.statistics()
            #expect(after.age.map { $0 < .seconds(60) } == true && after.lastError == nil)
        }
    }

    @Test func `a worker that starts knows the revocations before it asks`() async throws {
        let scene = try await RevocationScene()
        scene.responder.set(.init(.revoked(at: MakeBelieveResponder.now, .keyCompromise)), about: scene.authority.leaf)
        try await scene.withWorker { worker in
            _ = try await scene.receive()
            try await worker.work()
            try await worker.ask()
        }
        let event = try await scene.receive()
        try await scene.withWorker { worker in
            await worker.service.prepare()
            try await worker.work()
            #expect(try await scene.outcome(of: event) == "rejected certificate_revoked")
        }
    }
}
