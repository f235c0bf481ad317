import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import Testing

/// The property tests find each broken rule.
///
/// The rules of ``Mutation/all``, in SQL, are broken here, each in a database of its own. Those in Swift were broken by hand in a private
/// copy, one at a time; after each a run with `LIVES_PURE=300 LIVES_POSTGRES=150` was red, and said first:
///
/// 1. `TransactionRegister.join` keeps the fact that arrives last: `transaction …: payload_hash is …, not …; signed_date is …`
/// 2. `TransactionRegister.join` takes the newest token for the first: `transaction …: first_token is …, not …`
/// 3. `TransactionRegister.join` takes the highest date for the first: `transaction …: first_signed_date is …, not …`
/// 4. `SubscriptionFact.join` takes the fact that comes last: `subscription …: fact_hash is …, not …`
/// 5. The status is no part of `SubscriptionFact`'s version: `subscription …: fact_hash is …, not …`
/// 6. `ClientPost.join` takes the post received last: `submission …: event_id is …, not …; received_at is …`
/// 7. `RefundRequestFact.join` takes the statement signed last: `refund …: signed_date is …, not …`
/// 8. A grant is keyed by the charge and not by its period: `missing: effect … granted …`
/// 9. `TransactionMerge` lets arrival decide between facts of one instant: `contract …: access_until is …, not …` (LedgerPropertyTests alone)
/// 10. `TransactionMerge` keeps the token that came first: `not expected: claim … order:…` (LedgerPropertyTests alone)
/// 11. `ContractMerge` takes the fact that comes last: `contract …: status is 1, not 5; …` (LedgerPropertyTests alone)
/// 12. `ClientPostMerge` takes the post processed last: `claim … client:…: user_id is …, not …` (LedgerPropertyTests alone)
///
/// Rules that next to no history decides have tests of their own, red when the rule is broken: that of two earlier statements the newer one
/// counts (KnownConstantTests), that a copy claims nothing (RestoredPurchaseTests), that of several parts the last one counts (SeatPartTests).
struct MutationTests {
    /// Fixed, so that the result does not depend on chance.
    private static let seed: UInt64 = 20_260_101
    private static let livesAtOnce = 50

    /// Lives and the lines of their models.
    private typealias Chunk = (lives: [PreparedLife], lines: [String])

    /// 3,000 lives, prepared once for all mutations.
    private static let chunks = (0..<60).map { _ in Once<Chunk>() }

    private static func prepare(_ indices: some Sequence<Int>, acceptsForgedReceipts: Bool = false) async throws -> Chunk {
        let lives = try await PreparedLife.make(indices, seed: seed, acceptsForgedReceipts: acceptsForgedReceipts)
        return (lives, await lives.lines())
    }

    @Test(arguments: Mutation.all) func `a broken rule is found`(mutation: Mutation) async throws {
        if !mutation.histories.isEmpty, try await isFound(mutation, in: [{ try await Self.prepare(mutation.histories) }]) { return }
        #expect(try await isFound(mutation, in: Self.chunks.indices.map { number in { try await chunk(number, of: mutation) } }))
    }

    @Test(arguments: Mutation.plainContract)
    func `deriving everything again finds what is broken in the plain path alone`(mutation: Mutation) async throws {
        let ledger = try await LedgerFixture.open()
        try await mutation.apply(to: ledger.database)
        var generator = SeededGenerator(seed: Self.seed)
        var isFound = false
        for number in 0..<Self.chunks.count where !isFound {
            let steps = try await chunk(number).lives.steps.shuffled(using: &generator)
            try await ledger.process(steps, batchesOf: 60, atOnce: 1, using: &generator)
            isFound = try await !ledger.differencesWhenDerivedAgain().isEmpty
        }
        #expect(isFound)
        try await ledger.close()
    }

    @Test(arguments: Mutation.ofOneWay)
    func `a rule of orders that is broken in one of its two places is found`(mutation: Mutation) async throws {
        let ledger = try await LedgerFixture.open()
        var generator = SeededGenerator(seed: Self.seed)
        var (number, isFound) = (0, false)
        while number < Self.chunks.count, !isFound {
            let steps = try await chunk(number).lives.steps.shuffled(using: &generator)
            try await ledger.process(steps, batchesOf: 60, atOnce: 1, using: &generator)
            if number == 0 {
                #expect(try await ledger.ordersThatContradict() == [])
                try await mutation.apply(to: ledger.database)
            }
            isFound = try await !ledger.ordersThatContradict().isEmpty
            number += 1
        }
        #expect(isFound)
        try await ledger.close()
    }

    /// Otherwise a history in which the model is wrong would find every mutation.
    @Test func `nothing is found when no rule is broken`() async throws {
        var all = try await Self.prepare(Set(Mutation.all.flatMap(\.histories)).sorted())
        for number in Self.chunks.indices {
            let chunk = try await chunk(number)
            all.lives += chunk.lives
            all.lines += chunk.lines
        }
        let chunk = all
        let isFound = try await isFound(nil, in: [{ chunk }])
        #expect(!isFound)
    }

    private func chunk(_ number: Int, of mutation: Mutation? = nil) async throws -> Chunk {
        let indices = number * Self.livesAtOnce..<(number + 1) * Self.livesAtOnce
        if mutation?.acceptsForgedReceipts == true { return try await Self.prepare(indices, acceptsForgedReceipts: true) }
        return try await Self.chunks[number].value { try await Self.prepare(indices) }
    }

    private func isFound(_ mutation: Mutation?, in chunks: [() async throws -> Chunk]) async throws -> Bool {
        let ledger = try await LedgerFixture.open()
        try await mutation?.apply(to: ledger.database)
        let isFound = try await differs(ledger, mutation, chunks)
        if mutation == nil { #expect(try await ledger.differencesWhenDerivedAgain() == []) }
        try await ledger.close()
        return isFound
    }

    private func differs(_ ledger: LedgerFixture, _ mutation: Mutation?, _ chunks: [() async throws -> Chunk]) async throws -> Bool {
        var generator = SeededGenerator(seed: Self.seed)
        var expected: [String] = []
        for chunk in chunks {
            let chunk = try await chunk()
            expected += chunk.lines
            do {
                let steps = chunk.lives.steps.map { mutation?.corrupt($0) ?? $0 }.shuffled(using: &generator)
                try await ledger.process(steps, batchesOf: 60, atOnce: 1, using: &generator)
            } catch let error as PostgresError where error.sqlState?.conditionClass == "23" {
                // A table constraint has found it.
                return true
            }
            if !LedgerDifference.between(expected: expected, found: try await ledger.lines()).isEmpty { return true }
        }
        return false
    }
}
