import AppStore
import StrictJSON

/// All Subscription Statuses.
extension SimulatedServerAPI {
    func subscriptionStatuses(_ task: ServerAPITask) throws -> JSONObject {
        let wanted = try task.request.values("status").map { text throws(ServerAPIError) in
            guard let status = Int32(text), (1...5).contains(status) else { throw ServerAPIError.subscriptionStatus }
            return status
        }
        let life = try customer(of: Self.transactionID(task.arguments[0]), task).1.life
        var data: [JSONValue] = []
        if let subscription = life.subscription, wanted.isEmpty || wanted.contains(subscription.status.rawValue) {
            let renewalInfo = try signer.sign(subscription.renewalInfo, of: life.app, signedDate: task.now)
            let last: JSONObject = [
                "originalTransactionId": .string(subscription.originalTransactionID),
                "status": .integer(subscription.status.rawValue),
                "signedTransactionInfo": try sign(subscription.current, of: life.app, task),
                "signedRenewalInfo": .string(String(decoding: renewalInfo, as: UTF8.self)),
            ]
            var group = JSONObject()
            group.add("subscriptionGroupIdentifier", subscription.current.product.subscriptionGroupID)
            group["lastTransactions"] = [.object(last)]
            data.append(.object(group))
        }
        var answer = Self.answer(of: life.app)
        answer["data"] = .array(data)
        return answer
    }

    /// The members that name the app.
    static func answer(of app: SimulatedApp) -> JSONObject {
        var answer = JSONObject()
        answer.add("environment", app.environment.rawValue)
        answer.add("appAppleId", app.appAppleID)
        answer.add("bundleId", app.bundleID)
        return answer
    }
}
