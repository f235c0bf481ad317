import Randomness
package import AppStore

/// A make-believe App Store for one app: makes customers, and sends what concerns the app rather than a customer.
///
/// The same seed, clock and calls give the same customers, identifiers and payloads; two stores of one database should differ in seed.
package struct SimulatedStore: Sendable {
    package let app: SimulatedApp
    package let catalogue: SimulatedCatalogue
    /// What time it is in the store; the caller moves it.
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

    /// A new Apple ID that has bought nothing yet, with a clock that begins at the store's.
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

    /// A member of the family of a customer who has a subscription: an Apple ID of its own, with its own transactions for the same periods.
    package mutating func makeFamilyMember(of life: CustomerLife) -> CustomerLife {
        var member = makeCustomer()
        member.ownership = .familyShared
        member.now = life.now
        return member
    }
}
