/// Processor time that a part of the work takes.
package struct ProcessorCost: Hashable, Sendable {
    /// The part.
    package let part: String
    /// Of one processor, for each event.
    package let microseconds: Double
    /// How the figure was obtained.
    package let source: String

    package init(_ part: String, _ duration: Duration, per events: Int, source: String) {
        self.part = part
        self.microseconds = events > 0 ? duration.seconds * 1e6 / Double(events) : 0
        self.source = source
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
