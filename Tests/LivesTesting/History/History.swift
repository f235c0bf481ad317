/// All that happens around one customer: what is sent, and what the shop and its operators say. The set counts, not the sequence.
package struct History: Sendable {
    /// What it was made from; see ``init(seed:index:)``.
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
