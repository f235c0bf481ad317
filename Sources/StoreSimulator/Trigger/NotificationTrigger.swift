package import AppStore
package import FoundationEssentials

/// Makes one notification of any kind, consistent in itself: a short life is lived up to it, and its last notification returned.
package struct NotificationTrigger: Sendable {
    package var kind: NotificationKind
    package var app: SimulatedApp
    /// When it is signed.
    package var now: Timestamp
    /// Decides all identifiers that are not given.
    package var seed: UInt64
    /// The product that the transaction is about.
    package var productID: String?
    /// What kind of product ONE_TIME_CHARGE and the types about refunds are about; a consumable and a subscription unless given.
    package var productType: ProductType?
    /// The contract; where a charge may be a contract's first one, it is unless a ``transactionID`` says otherwise.
    package var originalTransactionID: String?
    package var transactionID: String?
    package var appAccountToken: UUID?
    /// Thousandths of the currency unit.
    package var price: Int64?
    /// Lets kinds pass that Apple does not document, as those of tomorrow: such a notification is about a running subscription.
    package var allowsUnknownKinds = false

    package init(_ kind: NotificationKind, app: SimulatedApp, now: Timestamp, seed: UInt64) {
        self.kind = kind
        self.app = app
        self.now = now
        self.seed = seed
    }

    /// Every kind that is known, in alphabetical order.
    package static let knownKinds: [String] = TriggerScene.all.keys.sorted()

    /// The notification.
    ///
    /// Throws `unknownNotification`, which lists what is known, and `invalidOption` when options contradict each other or the kind.
    package func notification() throws(SimulationError) -> SimulatedNotification {
        let scene = try scene()
        try checkOptions(scene)
        var stage = TriggerStage(self)
        var notification = try scene.play(&stage)
        notification.type = kind.type
        notification.subtype = kind.subtype
        setIdentifiers(of: &notification, scene.charge)
        return notification
    }

    private func scene() throws(SimulationError) -> TriggerScene {
        if let scene = TriggerScene.all[kind.description] { return scene }
        if allowsUnknownKinds { return .tomorrow }
        let related = Self.knownKinds.filter { $0 == kind.type.rawValue || $0.hasPrefix("\(kind.type.rawValue)/") }
        let known = (related.isEmpty ? Self.knownKinds : related).joined(separator: ", ")
        throw SimulationError(
            .unknownNotification,
            related.isEmpty
                ? "\(kind) is no known notification; known are \(known)" : "\(kind) is not known; \(kind.type.rawValue) comes as \(known)"
        )
    }

    private func checkOptions(_ scene: TriggerScene) throws(SimulationError) {
        let identifiers = [transactionID, originalTransactionID]
        guard identifiers.allSatisfy({ $0?.isEmpty != true }) else {
            throw SimulationError(.invalidOption, "an empty identifier names no transaction")
        }
        guard price.map({ $0 >= 0 }) ?? true else { throw SimulationError(.invalidOption, "the price is less than nothing") }
        switch scene.charge {
        case .none:
            let isBare = identifiers.allSatisfy { $0 == nil } && appAccountToken == nil && price == nil && productType == nil
            guard isBare else { throw SimulationError(.invalidOption, "\(kind) is about no transaction") }
        case .first where transactionID != nil && originalTransactionID != nil && transactionID != originalTransactionID:
            throw SimulationError(.invalidOption, "\(kind) is a first purchase: its transactionId is its originalTransactionId")
        case .later where transactionID != nil && transactionID == originalTransactionID:
            throw SimulationError(.invalidOption, "\(kind) is a later charge: its transactionId is not its originalTransactionId")
        case .first, .later, .any: break
        }
    }

    private func setIdentifiers(of notification: inout SimulatedNotification, _ charge: TriggerScene.Charge) {
        guard case .data(var state) = notification.content, var transaction = state.transaction?.value else { return }
        switch charge {
        case .none: return
        case .first, .any:
            transaction.originalTransactionID = originalTransactionID ?? transactionID ?? transaction.originalTransactionID
            transaction.transactionID = transactionID ?? originalTransactionID ?? transaction.transactionID
        case .later:
            transaction.originalTransactionID = originalTransactionID ?? transaction.originalTransactionID
            transaction.transactionID = transactionID ?? transaction.transactionID
        }
        state.transaction?.value = transaction
        state.renewalInfo?.value.originalTransactionID = transaction.originalTransactionID
        notification.content = .data(state)
    }
}
