import AppStore

/// How one kind of notification comes about.
struct TriggerScene: Sendable {
    /// Which charge of a contract a notification of this kind is about.
    enum Charge: Sendable {
        /// The contract's first.
        case first
        /// Never the first.
        case later
        /// The first or a later one.
        case any
        /// None: it is not about a transaction.
        case none
    }

    typealias Play = @Sendable (inout TriggerStage) throws(SimulationError) -> SimulatedNotification

    typealias Preparation = @Sendable (inout CustomerLife) throws(SimulationError) -> SimulatedNotification

    let charge: Charge
    let play: Play

    init(_ charge: Charge, _ play: @escaping Play) {
        self.charge = charge
        self.play = play
    }

    /// An event in the midst of a running subscription.
    static func running(_ charge: Charge = .any, _ event: @escaping Play) -> TriggerScene {
        TriggerScene(charge) { stage throws(SimulationError) in
            try stage.subscribe(endingIn: .seconds(20 * 86_400))
            stage.cutToNow()
            return try event(&stage)
        }
    }

    /// An event that comes so long after a period has ended; `before` happens during the period.
    static func ended(
        _ time: Duration,
        before: Preparation? = nil,
        _ event: @escaping Play
    ) -> TriggerScene {
        TriggerScene(.any) { stage throws(SimulationError) in
            try stage.subscribe(endingIn: .zero - time)
            _ = try before?(&stage.life)
            stage.cutToNow()
            return try event(&stage)
        }
    }

    /// An event about something that was bought, a subscription or not.
    static func bought(isFamily: Bool = false, before: Preparation? = nil, _ event: @escaping Play) -> TriggerScene {
        TriggerScene(.any) { stage throws(SimulationError) in
            try stage.purchase(isFamily: isFamily)
            _ = try before?(&stage.life)
            stage.cutToNow()
            return try event(&stage)
        }
    }

    /// What a kind is taken to be that nobody knows yet.
    static let tomorrow = running { stage throws(SimulationError) in try stage.life.declineRefund() }

    /// All kinds, by `TYPE` or `TYPE/SUBTYPE`.
    static let all: [String: TriggerScene] = beginnings.merging(changes) { one, _ in one }.merging(endings) { one, _ in one }.merging(
        notices
    ) { one, _ in one }
}
