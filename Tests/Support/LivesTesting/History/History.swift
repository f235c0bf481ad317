/// The events around one customer, and the commands of the shop and its operators. Their order does not matter.
package struct History: Sendable {
    /// The seed of the generator; see ``init(seed:index:receiptText:)``.
    package let seed: UInt64
    package let index: Int
    package var events: [LifeEvent]
    package var commands: [LifeCommand]

    package init(seed: UInt64, index: Int, events: [LifeEvent], commands: [LifeCommand]) {
        self.seed = seed
        self.index = index
        self.events = events
        self.commands = commands
    }
}
