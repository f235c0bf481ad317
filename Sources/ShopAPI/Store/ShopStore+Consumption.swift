import AppStore
import HTTPServing
import Postgres
import SQL
import StrictJSON

/// The statements about Apple's consumption requests.
extension ShopStore {
    /// The request about a transaction, or those that Apple waits for, the most urgent first.
    ///
    /// - Parameter state: of the latter; nil for any.
    func consumption(
        of transaction: String? = nil,
        in environment: AppStoreEnvironment,
        state: String? = nil,
        limit: Int32,
        key: KeyScope
    ) async throws(Problem) -> [JSONObject] {
        let statement = Statement.apiConsumption(
            keyHash: key.hash,
            environment: environment.rawValue,
            transactionID: transaction,
            state: state,
            maxRequests: limit
        )
        return try await rows(statement, for: .readConsumption) { rows in
            try rows.map { try JSONParser().parseObject(Array(try $0.decode(0, as: String.self).utf8)) }
        }
    }

    /// Decides how the request about a transaction is answered. The same decision again changes nothing.
    ///
    /// - Throws: status 404, 409 or 422 for what cannot be decided so.
    func answerConsumption(
        of transaction: String,
        in environment: AppStoreEnvironment,
        with answer: ConsumptionAnswer,
        key: KeyScope
    ) async throws(Problem) {
        let statement = Statement.apiAnswerConsumption(
            keyHash: key.hash,
            environment: environment.rawValue,
            transactionID: transaction,
            consented: answer.consented,
            delivery: answer.delivery,
            sample: answer.sample,
            percentage: answer.percentage,
            preference: answer.preference,
            evidence: answer.evidence,
            details: answer.details.map { JSONText(JSONSerializer.text($0)) }
        )
        try await rows(statement, for: .answerConsumption) { rows in
            let row = rows[rows.startIndex]
            guard let refusal: String = try row.decode("refusal") else { return }
            throw Problem.consumption(refusedFor: refusal, try row.decode("message", as: String?.self) ?? "")
        }
    }

    /// Records a consent, and returns since when the one in force has been given.
    func giveConsent(of user: String, evidence: String, key: KeyScope) async throws(Problem) -> Timestamp {
        let statement = Statement.apiGiveConsent(keyHash: key.hash, userID: user, evidence: evidence)
        return try await rows(statement, for: .writeConsents) { rows in
            try rows[rows.startIndex].decode(0, as: PostgresTimestamp.self).timestamp
        }
    }

    /// Withdraws the consent of a user; false when none is in force.
    func withdrawConsent(of user: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement.apiWithdrawConsent(keyHash: key.hash, userID: user)
        return try await rows(statement, for: .writeConsents) { try $0[$0.startIndex].decode(0) }
    }
}
