import Randomness
import AppStore
import FoundationEssentials
import Ledger
import LedgerTesting
import Testing

struct TransactionRegisterTests {
    /// Everything that a register knows, comparable.
    private struct Knowledge: Equatable {
        let version: Version
        let revocationDate: Timestamp?
        let firstSignedDate: Timestamp
        let firstToken: TransactionRegister.FirstToken?

        init(_ register: TransactionRegister) {
            version = register.latest.version
            revocationDate = register.latest.payload.revocationDate
            firstSignedDate = register.firstSignedDate
            firstToken = register.firstToken
        }
    }

    private func join(_ facts: [TransactionFact]) throws -> Knowledge {
        var register = TransactionRegister(try #require(facts.first))
        for fact in facts.dropFirst() { register.join(TransactionRegister(fact)) }
        return Knowledge(register)
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max), 1, 2, 3])
    func `order, repetition and grouping of facts change nothing`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let tokens = [nil, UUID(), UUID()]
        for _ in 0..<500 {
            let facts = try (0..<Int.random(in: 1...6, using: &generator)).map { _ in
                // Signed dates collide on purpose, so that hashes decide; equal versions are equal payloads, as hashes of them are.
                let signedDate = Int64.random(in: 1...4, using: &generator)
                let choice = Int.random(in: 0...2, using: &generator)
                return try Facts.transaction(
                    "1001",
                    signedDate: signedDate,
                    hash: UInt8(choice),
                    token: tokens[choice],
                    revocationDate: choice == 1 ? Facts.day(9) : nil
                )
            }
            let expected = try join(facts)
            let again = facts + facts.filter { _ in Bool.random(using: &generator) }
            let shuffled = try join(again.shuffled(using: &generator))
            #expect(shuffled == expected, "seed \(seed)")

            let middle = Int.random(in: 0..<facts.count, using: &generator)
            if middle > 0 {
                var left = TransactionRegister(facts[0])
                for fact in facts[1..<middle] { left.join(TransactionRegister(fact)) }
                var right = TransactionRegister(facts[middle])
                for fact in facts[(middle + 1)...] { right.join(TransactionRegister(fact)) }
                right.join(left)
                #expect(Knowledge(right) == expected, "seed \(seed)")
            }
        }
    }

    @Test func `a newer fact replaces the older one as a whole, so that a reversal clears the revocation`() throws {
        let refunded = try Facts.transaction("1001", signedDate: 2, revocationDate: Facts.day(9))
        let reversed = try Facts.transaction("1001", signedDate: 3)
        #expect(try join([reversed, refunded]).revocationDate == nil)
        #expect(try join([refunded, reversed]).revocationDate == nil)
    }

    @Test func `a token that comes later is not the first one`() throws {
        let (first, later) = (UUID(), UUID())
        let facts = [
            try Facts.transaction("1001", signedDate: 3, token: later), try Facts.transaction("1001", signedDate: 1),
            try Facts.transaction("1001", signedDate: 2, token: first),
        ]
        #expect(try join(facts).firstToken?.token == first)
        #expect(try join(facts).firstSignedDate == Facts.timestamp(1))
    }
}
