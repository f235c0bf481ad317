import Foundation
import InboxTesting
import Postgres
import Testing

/// Decisions while something else about the same request is not committed yet.
@Suite(.timeLimit(.minutes(2)))
struct ConsumptionRaceTests {
    private static let derive: Statement = "SELECT appstore.derive_refund_requests('Production', '{1000}')"

    /// Runs `first` in an open transaction, begins `second`, which waits for it, then commits.
    private func race(
        _ ledger: TestLedger,
        _ first: @Sendable (Connection) async throws -> Void,
        then second: @escaping @Sendable (TestLedger) async throws -> Void
    ) async throws {
        try await ledger.database.withConnection { connection in
            try await connection.execute("BEGIN")
            try await first(connection)
            async let waiting: Void = second(ledger)
            try await ledger.database.awaitLockWaiters(1)
            try await connection.execute("COMMIT")
            try await waiting
        }
    }

    @Test func `a decision waits for a batch with Apple's, and is refused`() async throws {
        try await TestLedger.withRequest { ledger in
            try await race(ledger) { batch in
                try await batch.execute(TestLedger.statement("declined", of: "1000"))
                _ = try await batch.query(Self.derive)
            } then: { ledger in
                #expect(await ledger.refusal { try await $0.answer() }?.message.contains("Apple has decided") == true)
            }
            #expect(try await ledger.calls() == [])
        }
    }

    @Test func `a batch with Apple's decision waits for ours, and discards its call`() async throws {
        try await TestLedger.withRequest { ledger in
            try await race(ledger) { backend in
                _ = try await backend.query(
                    "SELECT appstore.answer_consumption('Production', '1000', true, 'DELIVERED', false, evidence => 'terms 7')"
                )
            } then: { ledger in
                try await ledger.sayNow("refunded")
            }
            #expect(try await ledger.calls() == ["Production/1000 discarded apple_decided"])
            #expect(try await ledger.states() == ["1000 missed refunded"])
        }
    }

    @Test func `of two equal decisions at once one is recorded`() async throws {
        try await TestLedger.withRequest { ledger in
            try await race(ledger) { backend in
                _ = try await backend.query(
                    "SELECT appstore.answer_consumption('Production', '1000', true, 'DELIVERED', false, evidence => 'terms 7')"
                )
            } then: { ledger in
                try await ledger.answer()
            }
            #expect(try await ledger.calls() == ["Production/1000 open"])
        }
    }

    @Test func `a withdrawal waits for a decision that relies on the consent, and discards it`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.run("SELECT appstore.give_consent('anna', 'terms 7')")
            try await race(ledger) { backend in
                _ = try await backend.query("SELECT appstore.answer_consumption('Production', '1000', true, 'DELIVERED', false)")
            } then: { ledger in
                try await ledger.run("SELECT appstore.withdraw_consent('anna')", as: "appstore_backend")
            }
            #expect(try await ledger.calls() == ["Production/1000 discarded consent_withdrawn"])
        }
    }

    @Test func `a decision waits for a withdrawal, and is refused`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.run("SELECT appstore.give_consent('anna', 'terms 7')")
            try await race(ledger) { backend in
                _ = try await backend.query("SELECT appstore.withdraw_consent('anna')")
            } then: { ledger in
                #expect(await ledger.refusal { try await $0.answer() }?.message.contains("withdrew") == true)
            }
            #expect(try await ledger.calls() == [])
        }
    }

    @Test func `a worker's answer that comes after Apple's decision is late and changes nothing`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(preference: "DECLINE")
            try await ledger.run("UPDATE appstore.outbox SET is_leased = true, epoch = 1")
            try await ledger.sayNow("declined")
            let isSettled = try await ledger.database.withConnection(user: "appstore_worker") { connection in
                try await connection.query("SELECT appstore.answer_call(call_id, 1, '{}') FROM appstore.outbox")[0].decode(0, as: Bool.self)
            }
            #expect(!isSettled)
            #expect(try await ledger.states() == ["1000 missed DECLINE declined"])
        }
    }

    /// The settlement holds the call and then writes the decision; the batch holds the request and then takes the call.
    @Test func `a settlement and a batch with Apple's decision do not block each other for ever`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(preference: "DECLINE")
            try await ledger.run("UPDATE appstore.outbox SET is_leased = true, epoch = 1")
            try await race(ledger) { worker in
                _ = try await worker.query("SELECT appstore.answer_call(call_id, 1, '{}') FROM appstore.outbox")
            } then: { ledger in
                try await ledger.sayNow("declined")
            }
            #expect(try await ledger.states() == ["1000 answered DECLINE declined"])
        }
    }
}
