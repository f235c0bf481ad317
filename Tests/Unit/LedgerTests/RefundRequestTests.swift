import Ledger
import LedgerTesting
import Randomness
import Testing

struct RefundRequestTests {
    @Test func `a retry that is signed anew does not change a request's date`() throws {
        let charge = Facts.Charge("1001", onDay: 0)
        let (first, again) = try (
            Facts.refundStatement(.asked, of: charge, uuid: "u", signedDate: 5),
            Facts.refundStatement(.asked, of: charge, uuid: "u", signedDate: 9)
        )
        for statements in [[first, again], [again, first]] {
            let fold = BatchFold(statements.enumerated().map { Facts.event(Int64($0), uuid: "u", refundStatement: $1) })
            #expect(Array(fold.refundStatements.values) == [first])
        }
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max), 1, 2])
    func `order, repetition and grouping of requests change nothing`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            // They differ only within one millisecond, on purpose.
            let statements = try (0..<4).map { _ in
                try Facts.refundStatement(
                    Bool.random(using: &generator) ? .asked : .declined,
                    of: Facts.Charge(Bool.random(using: &generator) ? "1001" : "1002", onDay: 0),
                    uuid: "u",
                    reason: [nil, "a", "b"].randomElement(using: &generator) ?? nil,
                    signedDate: Int64.random(in: 1...2, using: &generator)
                )
            }
            let join = { (statements: [RefundRequestFact]) in
                statements.dropFirst().reduce(into: statements[0]) { $0.join($1) }
            }
            #expect(join(statements) == join((statements + statements).shuffled(using: &generator)), "seed \(seed)")
        }
    }

    @Test func `the first event of a notification is applied`() throws {
        let charge = Facts.Charge("1001", onDay: 0)
        let fact = try charge.fact()
        let event = Facts.event(
            7,
            transaction: fact,
            refundStatement: try Facts.refundStatement(.refunded, of: charge, uuid: "uuid-7", signedDate: 5)
        )
        let fold = BatchFold([event])
        let key = try #require(event.notificationKey)
        #expect(fold.result(of: event, after: MergeResult { ($0.movedRefundStatements, $0.firstEvents) = ([key], [key: 7]) }) == .applied)
        #expect(fold.result(of: event, after: MergeResult { $0.firstEvents = [key: 7] }) == .superseded)
        #expect(fold.result(of: event, after: MergeResult { $0.firstEvents = [key: 3] }) == .duplicate)
    }
}
