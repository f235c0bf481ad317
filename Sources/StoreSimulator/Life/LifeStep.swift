import AppStore

/// Something that may happen in a customer's life, for lives made at random.
package struct LifeStep: Sendable {
    /// Tells the step from others when a life is printed.
    package let name: String
    /// How often it happens compared with others.
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

    /// All steps there are.
    package static let all: [LifeStep] = purchases + renewals + changesOfMind + money
}

extension CustomerLife {
    /// What may happen next.
    package var possibleSteps: [LifeStep] { LifeStep.all.filter { $0.isPossible(self) } }

    /// Lets one thing happen; nil when the store says nothing about it.
    package mutating func take(_ step: LifeStep) throws(SimulationError) -> SimulatedNotification? {
        try step.perform(&self)
    }

    /// Goes on at random until the store has sent so many notifications; the same life goes on the same way.
    package mutating func live(notifications count: Int) throws(SimulationError) -> [SimulatedNotification] {
        var told: [SimulatedNotification] = []
        while told.count < count {
            let steps = possibleSteps
            var remaining = Int.random(in: 0..<steps.reduce(0) { $0 + $1.weight }, using: &generator)
            let step = steps.first { step in
                remaining -= step.weight
                return remaining < 0
            }
            if let step, let notification = try take(step) { told.append(notification) }
            advance(by: restBeforeNextStep())
        }
        return told
    }

    /// Up to a third of what is left of the period, so that its end is met by a step, not slept through; often nothing at all.
    private mutating func restBeforeNextStep() -> Duration {
        guard Bool.random(using: &generator) else { return .zero }
        let end = subscription?.expiresDate ?? now
        let left = now < end ? (end.millisecondsSince1970 - now.millisecondsSince1970) / 3 : 3 * 86_400_000
        return .milliseconds(Int64.random(in: 0...left, using: &generator))
    }
}
