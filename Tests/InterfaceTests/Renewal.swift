import Postgres

/// Renewal info and status in the register.
struct Renewal {
    var contract = "1000"
    var environment = "Production"
    var status: Int32
    var signedDay: Double
    var willRenew: Bool? = true
    var graceEndDay: Double?
    var product = "pro.monthly"

    init(_ status: Int32, signedDay: Double, willRenew: Bool? = true, graceEndDay: Double? = nil) {
        (self.status, self.signedDay, self.willRenew, self.graceEndDay) = (status, signedDay, willRenew, graceEndDay)
    }

    var statement: Statement {
        let autoRenewStatus: Int32? = willRenew.map { $0 ? 1 : 0 }
        return """
            INSERT INTO appstore.subscriptions (environment, original_transaction_id, status, product_id, auto_renew_status,
                                                grace_period_expires_date, signed_date, fact_hash)
            VALUES (\(environment), \(contract), \(status), \(product), \(autoRenewStatus), \(timestamp(graceEndDay)),
                    \(timestamp(signedDay)), \([UInt8](arrayLiteral: 1)))
            ON CONFLICT (environment, original_transaction_id) DO UPDATE
            SET status = excluded.status, auto_renew_status = excluded.auto_renew_status, signed_date = excluded.signed_date,
                grace_period_expires_date = excluded.grace_period_expires_date
            """
    }
}
