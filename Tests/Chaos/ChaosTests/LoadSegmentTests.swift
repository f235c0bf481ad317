import LivesTesting
import StoreSimulator
import Testing

struct LoadSegmentTests {
    /// A run with a million posts has more than 100,000 segments; some of them have many customers.
    @Test(arguments: [(10_623, 10_624), (10_624, 135_624)])
    func `no two segments share a charge, adjacent or far apart`(one: Int, other: Int) throws {
        let charges = try [one, other].map { number in
            Set(
                try History(seed: 3_042_782_161, index: number).events.compactMap { event in
                    guard case .notification(let notification) = event.content else { return String?.none }
                    return notification.transactionID
                }
            )
        }
        #expect(charges.allSatisfy { !$0.isEmpty })
        #expect(charges[0].isDisjoint(with: charges[1]))
    }
}
