import AppStore
import FoundationEssentials
import Randomness
import StrictJSON

/// Set App Account Token, Extend a Renewal Date, Extend for All, and its status.
extension SimulatedServerAPI {
    mutating func setAppAccountToken(_ task: ServerAPITask) throws -> SimulatedReply {
        let id = try Self.transactionID(task.arguments[0])
        let (transaction, known) = try transaction(id, task)
        guard let token = try task.request.members()["appAccountToken"]?.text.flatMap(UUID.init(uuidString:)) else {
            throw ServerAPIError.accountTokenFormat
        }
        guard transaction.ownership == .purchased else { throw ServerAPIError.familyTransaction }
        guard transaction.originalTransactionID == id else { throw ServerAPIError.notOriginal }
        var life = newest(known, task)
        if life.subscription?.originalTransactionID == id {
            try life.changeAppAccountToken(to: token)
        } else {
            try life.changeAppAccountToken(ofCharge: id, to: token)
        }
        hold(life, at: task.now)
        return SimulatedReply(status: 200)
    }

    mutating func extendRenewal(_ task: ServerAPITask) throws -> JSONObject {
        let id = try Self.transactionID(task.arguments[0], otherwise: .originalTransactionID)
        let (days, _) = try Self.extensionRequest(task.request.members())
        let known = try customer(of: id, task, otherwise: .originalTransactionNotFound).1.life
        guard known.subscription?.originalTransactionID == id else { throw ServerAPIError.originalTransactionNotFound }
        let extended = try extend(newest(known, task), byDays: days, task)
        var answer = JSONObject()
        answer.add("originalTransactionId", id)
        answer.add("webOrderLineItemId", extended.webOrderLineItemID)
        answer.add("success", true)
        answer.add("effectiveDate", extended.expiresDate)
        return answer
    }

    /// Extends the subscriptions at once; the status says so after a while.
    mutating func extendAll(_ task: ServerAPITask) throws -> JSONObject {
        let body = try task.request.members()
        let (days, identifier) = try Self.extensionRequest(body)
        guard let productID = body["productId"]?.text, !productID.isEmpty else { throw ServerAPIError.productID }
        let countries = try Self.countries(body)
        let lives = (places[task.place]?.customers.values.compactMap(\.newest?.life) ?? []).filter { life in
            life.subscription?.current.product.id == productID && countries.map { $0.contains(life.app.storefront.countryCode) } ?? true
        }
        var (succeeded, failed) = (0, 0)
        for var life in lives.sorted(by: { $0.appTransactionID < $1.appTransactionID }) {
            do {
                _ = try extend(life, byDays: days, task)
                succeeded += 1
            } catch is ServerAPIError {
                failed += 1
                life.advance(to: task.now)
                try send(life.failToExtendRenewal())
                hold(life, at: task.now)
            }
        }
        let done = MassExtension(
            productID: productID,
            completedAt: task.now.advanced(by: options.massExtensionTime),
            succeeded: succeeded,
            failed: failed
        )
        places[task.place, default: ServerAPIBooks()].massExtensions[identifier] = done
        let summary = ExtensionSummary(
            productID: productID,
            requestIdentifier: identifier,
            storefrontCountryCodes: countries ?? [],
            succeededCount: Int64(succeeded),
            failedCount: Int64(failed)
        )
        try send(notice(.renewalExtension, .summary, .summary(summary), task))
        return ["requestIdentifier": .string(identifier)]
    }

    func massExtensionStatus(_ task: ServerAPITask) throws -> JSONObject {
        let identifier = task.arguments[1]
        guard let done = places[task.place]?.massExtensions[identifier], done.productID == task.arguments[0] else {
            throw ServerAPIError.statusNotFound
        }
        let isComplete = done.completedAt <= task.now
        var answer: JSONObject = ["requestIdentifier": .string(identifier), "complete": .bool(isComplete)]
        guard isComplete else { return answer }
        answer.add("completeDate", done.completedAt)
        answer.add("succeededCount", done.succeeded)
        answer.add("failedCount", done.failed)
        return answer
    }

    /// A notification of the store about no customer.
    mutating func notice(
        _ type: NotificationTypeV2,
        _ subtype: Subtype?,
        _ content: SimulatedNotification.Content,
        _ task: ServerAPITask
    ) -> SimulatedNotification {
        SimulatedNotification(
            type: type,
            subtype: subtype,
            notificationUUID: generator.uuid(),
            signedDate: task.now,
            app: SimulatedApp(bundleID: task.app.bundleID, appAppleID: task.app.appAppleID, environment: task.place.environment),
            content: content
        )
    }

    /// Extends a customer's renewal and sends RENEWAL_EXTENDED.
    private mutating func extend(_ life: CustomerLife, byDays days: Int, _ task: ServerAPITask) throws -> SimulatedTransaction {
        var life = life
        life.advance(to: task.now)
        guard life.ownership == .purchased else { throw ServerAPIError.familyExtension }
        guard let subscription = life.subscription, subscription.phase == .active, task.now < subscription.expiresDate,
            subscription.current.offer?.discountType != .freeTrial
        else { throw ServerAPIError.extensionIneligible }
        let recent = places[task.place]?.customers[life.appTransactionID]?.extensions.filter {
            $0 > task.now.advanced(by: .seconds(-365 * 86_400))
        }
        guard (recent ?? []).count < 2 else { throw ServerAPIError.maximumExtensions }
        let notification = try life.extendRenewal(byDays: days)
        hold(life, at: task.now)
        places[task.place]?.customers[life.appTransactionID]?.extensions = (recent ?? []) + [task.now]
        try send(notification)
        return life.subscription?.current ?? subscription.current
    }

    /// The newest state of a customer; a lagging replica still changes the books themselves.
    private func newest(_ life: CustomerLife, _ task: ServerAPITask) -> CustomerLife {
        places[task.place]?.customers[life.appTransactionID]?.newest?.life ?? life
    }

    private static func extensionRequest(_ body: JSONObject) throws(ServerAPIError) -> (days: Int, identifier: String) {
        guard let days = body["extendByDays"]?.integer, (1...90).contains(days) else { throw .extendByDays }
        guard let reason = body["extendReasonCode"]?.integer, (0...3).contains(reason) else { throw .extendReasonCode }
        guard let identifier = body["requestIdentifier"]?.text, (1...128).contains(identifier.utf8.count) else { throw .requestIdentifier }
        return (Int(days), identifier)
    }

    /// The storefronts of a request; nil for all.
    private static func countries(_ body: JSONObject) throws(ServerAPIError) -> [String]? {
        guard let list = body["storefrontCountryCodes"] else { return nil }
        guard let elements = list.elements else { throw .storefront }
        guard !elements.isEmpty else { throw .emptyStorefronts }
        let countries = elements.compactMap(\.text).filter { code in
            code.utf8.count == 3 && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        }
        guard countries.count == elements.count else { throw .storefront }
        return countries
    }
}
