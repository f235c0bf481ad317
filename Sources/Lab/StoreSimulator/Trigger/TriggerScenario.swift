/// The events that lead to one kind of notification.
struct TriggerScenario: Sendable {
    /// The charge of a contract that a notification of this kind is about.
    enum Charge: Sendable {
        /// The contract's first.
        case first
        /// Never the first.
        case later
        /// The first or a later one.
        case any
        /// The notification is not about a transaction.
        case none
    }

    typealias Event = @Sendable (inout ScenarioState) throws(SimulationError) -> SimulatedNotification

    let charge: Charge
    let run: Event
    /// What it is about, if its kind has several scenarios.
    var words: String?

    init(_ charge: Charge, about words: String? = nil, _ run: @escaping Event) {
        self.charge = charge
        self.words = words
        self.run = run
    }

    /// An event during an active subscription.
    static func running(_ charge: Charge = .any, _ event: @escaping Event) -> TriggerScenario {
        TriggerScenario(charge) { state throws(SimulationError) in
            try state.subscribe(endingIn: .seconds(20 * 86_400))
            state.advanceToNow()
            return try event(&state)
        }
    }

    /// An event that happens `time` after the end of a period; `before` happens during the period.
    static func ended(
        _ time: Duration,
        before: Event? = nil,
        _ event: @escaping Event
    ) -> TriggerScenario {
        TriggerScenario(.any) { state throws(SimulationError) in
            try state.subscribe(endingIn: .zero - time)
            if let before { try state.prepare(before) }
            state.advanceToNow()
            return try event(&state)
        }
    }

    /// An event about a purchase, of a subscription or a one-time product.
    static func bought(isFamily: Bool = false, before: Event? = nil, _ event: @escaping Event) -> TriggerScenario {
        TriggerScenario(.any) { state throws(SimulationError) in
            try state.purchase(isFamily: isFamily)
            if let before { try state.prepare(before) }
            state.advanceToNow()
            return try event(&state)
        }
    }

    /// The scenario of a kind that is not documented.
    static let undocumented = running { state throws(SimulationError) in try state.life.declineRefund() }

    /// All scenarios, by `TYPE`, `TYPE/SUBTYPE` or one of these with `:variant`.
    static let all: [String: TriggerScenario] = [
        beginnings, changes, endings, notices, purchasersOfSeats, membersWithSeats, commitments, undocumentedValues,
    ].reduce(into: [:]) { all, some in all.merge(some) { one, _ in one } }
}
