import AppStore
import FoundationEssentials
import Randomness
import StrictJSON

/// Request a Test Notification, and its status.
extension SimulatedServerAPI {
    mutating func requestTest(_ task: ServerAPITask) throws -> JSONObject {
        guard address(of: task.place) != nil else { throw ServerAPIError.noNotificationURL }
        let signed = try send(notice(.test, nil, .data(PurchaseState()), task))
        let token = "\(generator.uuid().uuidString.lowercased())_\(task.now.millisecondsSince1970)"
        places[task.place]?.tests[token] = signed.notification.notificationUUID
        return ["testNotificationToken": .string(token)]
    }

    func testStatus(_ task: ServerAPITask) throws -> JSONObject {
        let token = task.arguments[0]
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, UUID(uuidString: String(parts[0])) != nil, Int64(parts[1]) != nil else {
            throw ServerAPIError.testNotificationToken
        }
        guard let books = places[task.place], let record = books.tests[token].flatMap({ books.pushes[$0] }) else {
            throw ServerAPIError.testNotFound
        }
        let attempts = record.attempts(until: task.now)
        guard !attempts.isEmpty else { throw ServerAPIError.testNotFound }
        return record.json(attempts)
    }
}

extension PushRecord {
    /// The notification and its attempts, as answers say them.
    func json(_ attempts: ArraySlice<PushAttempt>) -> JSONObject {
        let list = attempts.map { attempt in
            JSONValue.object(
                ["attemptDate": .timestamp(attempt.date), "sendAttemptResult": .string(attempt.result.rawValue)]
            )
        }
        return ["sendAttempts": .array(list), "signedPayload": .string(String(decoding: jws, as: UTF8.self))]
    }
}
