package import AppStore
package import FoundationEssentials

/// The store's side: customers, and the notifications that are sent about them.
extension SimulatedServerAPI {
    /// Stores the state of a customer, which answers are made from.
    ///
    /// - Parameter hasAppTransaction: false for a customer of whom Apple has no app transaction.
    package mutating func hold(_ life: CustomerLife, at now: Timestamp, hasAppTransaction: Bool = true) {
        let place = ServerAPIPlace(life.app.bundleID, life.app.environment)
        let limit = now.advanced(by: .zero - options.replicaLag)
        var customer = places[place]?.customers[life.appTransactionID] ?? HeldCustomer()
        customer.hasAppTransaction = hasAppTransaction
        customer.add(life, at: now, forgettingUntil: limit)
        places[place, default: ServerAPIBooks()].customers[life.appTransactionID] = customer
        for id in [life.appTransactionID] + life.allCharges.map(\.transactionID) {
            places[place, default: ServerAPIBooks()].owners[id] = life.appTransactionID
        }
    }

    /// The newest state of the customer with this transactionId or appTransactionId.
    package func life(of id: String, at place: ServerAPIPlace) -> CustomerLife? {
        places[place]?.owners[id].flatMap { places[place]?.customers[$0]?.newest?.life }
    }

    /// Records a notification as sent. Returns the attempts that its fate means, for the caller to make those that go to the inbox.
    ///
    /// - Parameters:
    ///   - listedAfter: how long after the first attempt history lists it.
    ///   - failure: the result of attempts that fail.
    @discardableResult
    package mutating func push(
        _ signed: SignedNotification,
        fate: PushFate = .observed,
        listedAfter: Duration? = nil,
        failingWith failure: SendAttemptResult = .unsuccessfulStatus
    ) -> [PushAttempt] {
        let notification = signed.notification
        let place = ServerAPIPlace(notification.app.bundleID, notification.app.environment)
        let attempts = fate.attempts(from: notification.signedDate, in: place.environment, failingWith: failure)
        let customer =
            notification.transaction?.appTransactionID ?? notification.originalTransactionID.flatMap { places[place]?.owners[$0] }
            ?? notification.appTransactionID
        let record = PushRecord(
            uuid: notification.notificationUUID,
            type: notification.type,
            subtype: notification.subtype,
            signedDate: notification.signedDate,
            customer: customer,
            jws: signed.jws,
            fate: fate,
            listedAfter: listedAfter ?? options.listedAfter,
            attempts: attempts
        )
        places[place, default: ServerAPIBooks()].pushes.append(record)
        if notification.type == .consumptionRequest, let id = notification.transactionID {
            places[place]?.consumptionAsked[id] = notification.signedDate
        }
        return attempts
    }

    /// Records an attempt to send a notification. Returns false when the notification was never pushed.
    @discardableResult
    package mutating func record(_ attempt: PushAttempt, of uuid: UUID, at place: ServerAPIPlace) -> Bool {
        places[place, default: ServerAPIBooks()].pushes.append(attempt, to: uuid)
    }

    /// The notifications that history lists at an instant, in the order of their signatures.
    package func listed(at place: ServerAPIPlace, on now: Timestamp) -> [UUID] {
        places[place]?.pushes.listed(at: now).map(\.uuid) ?? []
    }

    /// The attempts to send a notification until an instant.
    package func attempts(of uuid: UUID, at place: ServerAPIPlace, until now: Timestamp) -> [PushAttempt] {
        Array(places[place]?.pushes[uuid]?.attempts(until: now) ?? [])
    }

    /// Lets something happen to a customer, and signs and records the notification about it. Returns nil when the store sends none.
    package mutating func live(
        _ id: String,
        at place: ServerAPIPlace,
        fate: PushFate = .observed,
        _ event: (inout CustomerLife) throws -> SimulatedNotification?
    ) throws -> SignedNotification? {
        guard var life = life(of: id, at: place) else { throw ServerAPIError.transactionNotFound }
        let notification = try event(&life)
        hold(life, at: life.now)
        guard let notification else { return nil }
        let signed = try signer.sign(notification)
        push(signed, fate: fate)
        return signed
    }

    /// Answers about consumption that were accepted, in their order.
    package func consumptions(at place: ServerAPIPlace) -> [Consumption] { places[place]?.consumptions ?? [] }

    /// Takes the notifications that calls have caused and that no URL takes: tests and extended renewals.
    ///
    /// The caller sends them and records the attempts.
    package mutating func takeUnsent() -> [SignedNotification] {
        let taken = unsent.filter { url(of: $0.place) == nil }
        unsent = unsent.filter { url(of: $0.place) != nil }
        return taken.map(\.signed)
    }

    /// Takes the notifications that calls have caused, with the URLs that they are posted to.
    package mutating func takePosts() -> [(url: String, signed: SignedNotification)] {
        let taken = unsent.compactMap { next in url(of: next.place).map { (url: $0, signed: next.signed) } }
        unsent = unsent.filter { url(of: $0.place) == nil }
        return taken
    }

    /// Records a notification, which ``takeUnsent()`` or ``takePosts()`` then returns.
    package mutating func send(_ signed: SignedNotification) {
        push(signed)
        let app = signed.notification.app
        unsent.append(UnsentNotification(place: ServerAPIPlace(app.bundleID, app.environment), signed: signed))
    }

    /// Signs a notification that a call has caused, and has it sent.
    @discardableResult
    mutating func send(_ notification: SimulatedNotification) throws(SimulationError) -> SignedNotification {
        let signed = try signer.sign(notification)
        send(signed)
        return signed
    }

    /// The address of an app's notifications; nil when none is configured.
    func address(of place: ServerAPIPlace) -> App.Address? {
        apps.first { $0.bundleID == place.bundleID }?.addresses[place.environment]
    }

    private func url(of place: ServerAPIPlace) -> String? {
        guard case .url(let url)? = address(of: place) else { return nil }
        return url
    }
}

extension SimulatedNotification {
    /// The customer of an app transaction.
    fileprivate var appTransactionID: String? {
        guard case .appData(let appTransaction) = content else { return nil }
        return appTransaction.appTransactionID
    }
}
