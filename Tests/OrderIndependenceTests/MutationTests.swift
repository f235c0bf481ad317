import LivesTesting
import Postgres
import Randomness
import Testing

/// The property test can fail: each rule that is broken makes it.
///
/// The rules of ``Mutation/all``, in SQL, are broken here, each in a database of its own. Those in Swift were broken by hand in a private
/// copy, one at a time; after each a run with `LIVES_PURE=300 LIVES_BOOKS=150` was red, and said first:
///
/// 1. `TransactionRegister.join` takes the fact that comes last: `transaction …: payload_hash is …, not …; signed_date is …`
/// 2. `TransactionRegister.join` takes the newest token for the first: `transaction …: first_token is …, not …`
/// 3. `TransactionRegister.join` takes the highest date for the first: `transaction …: first_signed_date is …, not …`
/// 4. `SubscriptionFact.join` takes the fact that comes last: `subscription …: fact_hash is …, not …`
/// 5. The status is no part of `SubscriptionFact`'s version: `subscription …: fact_hash is …, not …`
/// 6. `ClientPost.join` takes the post received last: `submission …: event_id is …, not …; received_at is …`
/// 7. `RefundStatement.join` takes the statement signed last: `refund …: signed_date is …, not …`
/// 8. A grant is keyed by the charge and not by its period: `missing: effect … granted …`
/// 9. `TransactionMerge` lets arrival decide between facts of one instant: `contract …: access_until is …, not …` (BooksTests alone)
/// 10. `TransactionMerge` keeps the token that came first: `not expected: claim … order:…` (BooksTests alone)
/// 11. `ContractMerge` takes the fact that comes last: `contract …: status is 1, not 5; …` (BooksTests alone)
/// 12. `ClientPostMerge` takes the post processed last: `claim … client:…: user_id is …, not …` (BooksTests alone)
@Suite(.serialized) struct MutationTests {
    /// The same lives each time, so that this does not depend on luck.
    static let seed: UInt64 = 20_260_101
    static let livesAtOnce = 50
    static let mostLives = 1200

    @Test(arguments: Mutation.all) func `a broken rule is found`(mutation: Mutation) async throws {
        let hall = try await BookHall.open()
        try await mutation.apply(to: hall.database)
        #expect(
            try await isFound(
                in: hall,
                within: Self.mostLives,
                believesReceipts: mutation.believesReceipts,
                spoil: mutation.spoil
            )
        )
        try await hall.close()
    }

    @Test func `nothing is found where no rule is broken`() async throws {
        let hall = try await BookHall.open()
        #expect(try await !isFound(in: hall, within: Self.livesAtOnce))
        try await hall.close()
    }

    private func isFound(
        in hall: BookHall,
        within most: Int,
        believesReceipts: Bool = false,
        spoil: (BookHall.Step) -> BookHall.Step = { $0 }
    ) async throws -> Bool {
        var generator = SeededGenerator(seed: Self.seed)
        var expected: [String] = []
        for first in stride(from: 0, to: most, by: Self.livesAtOnce) {
            let lives = try await PreparedLife.make(
                first..<first + Self.livesAtOnce,
                seed: Self.seed,
                believesReceipts: believesReceipts
            )
            expected += await lives.lines()
            do {
                let steps = lives.steps.map(spoil).shuffled(using: &generator)
                try await hall.process(steps, batchesOf: 60, atOnce: 1, using: &generator)
            } catch let error as PostgresError where error.sqlState?.conditionClass == "23" {
                // A constraint of the tables has found it.
                return true
            }
            if !BookDifference.between(expected: expected, found: try await hall.lines()).isEmpty { return true }
        }
        return false
    }
}
