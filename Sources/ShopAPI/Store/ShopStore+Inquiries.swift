import AppStore
import HTTPServing
import Postgres
import SQL
import StrictJSON

/// Something to ask Apple, or to let Apple change; `appstore.request_apple` checks it.
struct AppleRequest: Sendable {
    let kind: String
    let id: String
    let details: JSONObject
    /// Nil for that of the transaction, or the only app.
    let bundleID: String?
    /// Nil for that of a known transaction, or any.
    let environment: AppStoreEnvironment?
}

/// The statements about calls to Apple.
extension ShopStore {
    /// Writes a call for a worker, or finds the open one that asks the same.
    ///
    /// - Throws: status 409 or 422 for what cannot be asked so.
    func ask(_ request: AppleRequest, key: KeyScope, verb: Verb) async throws(Problem) -> Int64 {
        let statement = Statement.apiRequestApple(
            keyHash: key.hash,
            kind: request.kind,
            id: request.id,
            details: JSONText(JSONSerializer.text(request.details)),
            bundleID: request.bundleID,
            environment: request.environment?.rawValue
        )
        return try await rows(statement, for: verb) { rows in
            let row = rows[rows.startIndex]
            if let refusal: String = try row.decode("refusal") {
                throw Problem.inquiry(refusedFor: refusal, try row.decode("message", as: String?.self) ?? "")
            }
            return try row.decode("call_id")
        }
    }

    /// The state of a call; nil when no such call is covered by the key.
    func call(_ id: Int64, key: KeyScope) async throws(Problem) -> JSONObject? {
        try await rows(.apiCall(keyHash: key.hash, callID: id), for: .makeInquiries) { rows in
            guard let text: String = try rows[rows.startIndex].decode(0) else { return nil }
            return try JSONParser().parseObject(Array(text.utf8))
        }
    }
}
