import AppStore
import Randomness

/// An event that may happen to a customer, for random lives.
package struct LifeStep: Sendable {
    /// The name in printed lives.
    package let name: String
    /// The relative frequency.
    let weight: Int
    let isPossible: @Sendable (CustomerLife) -> Bool
    let perform: @Sendable (inout CustomerLife) throws(SimulationError) -> SimulatedNotification?

    init(
        _ name: String,
        weight: Int = 2,
        when isPossible: @escaping @Sendable (CustomerLife) -> Bool,
        _ perform: @escaping @Sendable (inout CustomerLife) throws(SimulationError) -> SimulatedNotification?
    ) {
        self.name = name
        self.weight = weight
        self.isPossible = isPossible
        self.perform = perform
    }

    /// The steps of each random life; others are ``CustomerLife/additionalSteps``.
    package static let all: [LifeStep] = purchases + renewals + changesOfMind + money

    /// One of these steps by their weights, or nil when the draw is one of the others.
    fileprivate static func random(
        of steps: [LifeStep],
        among others: [LifeStep] = [],
        using generator: inout SeededGenerator
    ) -> LifeStep? {
        var remaining = Int.random(in: 0..<(steps + others).reduce(0) { $0 + $1.weight }, using: &generator)
        return steps.first { step in
            remaining -= step.weight
            return remaining < 0
        }
    }
}

extension CustomerLife {
    /// The steps that are possible in this state.
    package var possibleSteps: [LifeStep] { LifeStep.all.filter { $0.isPossible(self) } }

    /// Performs a step. Returns nil when the store sends no notification about it.
    package mutating func take(_ step: LifeStep) throws(SimulationError) -> SimulatedNotification? {
        try step.perform(&self)
    }

    /// Performs random steps until the store has sent `count` notifications. The same life always continues in the same way.
    package mutating func live(notifications count: Int) throws(SimulationError) -> [SimulatedNotification] {
        var sent: [SimulatedNotification] = []
        while sent.count < count {
            let step = additionalStep() ?? LifeStep.random(of: possibleSteps, using: &generator)
            if let step, let notification = try take(step) { sent.append(notification) }
            advance(by: restBeforeNextStep())
        }
        return sent
    }

    /// An additional step, or nil for one of the others: their weights decide.
    private mutating func additionalStep() -> LifeStep? {
        let steps = additionalSteps.filter { $0.isPossible(self) }
        guard !steps.isEmpty else { return nil }
        return LifeStep.random(of: steps, among: possibleSteps, using: &additionsGenerator)
    }

    /// Zero, or at most a third of the rest of the period, so that some step happens before its end.
    private mutating func restBeforeNextStep() -> Duration {
        guard Bool.random(using: &generator) else { return .zero }
        let end = subscription?.expiresDate ?? now
        let left = now < end ? (end.millisecondsSince1970 - now.millisecondsSince1970) / 3 : 3 * 86_400_000
        return .milliseconds(Int64.random(in: 0...left, using: &generator))
    }
}
