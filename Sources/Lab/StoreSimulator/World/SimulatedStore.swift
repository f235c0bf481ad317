package import AppStore
import Randomness

/// A simulated App Store for one app: it creates customers, and notifications that are not about a customer.
///
/// The same seed, clock and calls give the same customers, identifiers and payloads. Two stores for one database should have different
/// seeds.
package struct SimulatedStore: Sendable {
    package let app: SimulatedApp
    package let catalogue: SimulatedCatalogue
    /// The current time of the store; the caller advances it.
    package var now: Timestamp
    var generator: SeededGenerator
    private var nextBlock: UInt64

    /// - Parameter catalogue: defaults to ``SimulatedCatalogue/sample(bundleID:)``.
    package init(app: SimulatedApp, catalogue: SimulatedCatalogue? = nil, seed: UInt64, now: Timestamp) {
        self.app = app
        self.catalogue = catalogue ?? .sample(bundleID: app.bundleID)
        self.now = now
        generator = SeededGenerator(seed: seed)
        nextBlock = generator.next() % IdentifierSequence.blockCount
    }

    /// A new Apple ID without purchases, whose clock starts at the store's time.
    package mutating func makeCustomer() -> CustomerLife {
        defer { nextBlock += 1 }
        let identifiers = IdentifierSequence(block: nextBlock, environment: app.environment)
        return CustomerLife(
            app: app,
            catalogue: catalogue,
            now: now,
            identifiers: identifiers,
            generator: SeededGenerator(seed: generator.next())
        )
    }

    /// A family member of a customer with a subscription: another Apple ID, with its own transactions for the same periods.
    package mutating func makeFamilyMember(of life: CustomerLife) -> CustomerLife {
        var member = makeCustomer()
        member.ownership = .familyShared
        member.now = life.now
        return member
    }
}
