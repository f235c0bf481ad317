import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator

/// Receipts of customers who have had a weekly subscription for years, signed by an authority of their own.
struct ReceiptTraffic: Sendable {
    let authority: ReceiptAuthority
    private let signer: ReceiptSigner
    /// 2020-01-01, the first purchase of each customer.
    private static let beginning = Timestamp(millisecondsSince1970: 1_577_836_800_000)
    private static let week: Int64 = 7 * 86_400

    init() throws {
        let middle = Timestamp(millisecondsSince1970: 1_700_000_000_000)
        var options = AuthorityOptions(around: middle)
        let decades = AuthorityOptions.Validity.years(25, around: middle)
        (options.rootValidity, options.intermediateValidity, options.leafValidity) = (decades, decades, decades)
        authority = try ReceiptAuthority.generate(options)
        signer = ReceiptSigner(authority: authority)
    }

    /// The receipt of one customer after `count` weeks, in base64.
    func receipt(of customer: Int, purchases count: Int) throws -> String {
        var receipt = SimulatedReceipt.receipt(of: SimulatedTraffic.app, holding: [], madeAt: Self.instant(count))
        receipt.purchases = (0..<count).map { Self.purchase($0, of: customer) }
        return try signer.base64(receipt)
    }

    /// The event bodies that the shop's API stores when the customers' apps post their receipts.
    func bodies(of customers: Range<Int>, purchases count: Int) async throws -> [[UInt8]] {
        try await Parallel.map(Array(customers)) { customer in
            try ClientReceipt(
                receiptData: receipt(of: customer, purchases: count),
                user: "customer-\(customer)",
                transactionID: nil,
                environment: SimulatedTraffic.app.environment,
                bundleIDs: nil
            ).body
        }
    }

    private static func purchase(_ number: Int, of customer: Int) -> InAppPurchase {
        let first = 200_000_000_000_000 + customer * 1000
        var purchase = InAppPurchase()
        purchase.quantity = 1
        purchase.productID = "pro.weekly"
        purchase.transactionID = "\(first + number)"
        purchase.originalTransactionID = "\(first)"
        purchase.purchaseDate = instant(number)
        purchase.originalPurchaseDate = beginning
        purchase.productType = .autoRenewableSubscription
        purchase.expiresDate = instant(number + 1)
        purchase.webOrderLineItemID = "\(300_000_000_000_000 + customer * 1000 + number)"
        purchase.isTrialPeriod = false
        purchase.isInIntroOfferPeriod = false
        return purchase
    }

    private static func instant(_ weeks: Int) -> Timestamp { beginning.advanced(by: .seconds(Int64(weeks) * week)) }

    /// A verifier that trusts these receipts, for the benchmark's app.
    func verifier() throws -> ReceiptVerifier {
        let app = SimulatedTraffic.app
        return ReceiptVerifier(
            policy: VerificationPolicy(
                apps: [App(bundleID: app.bundleID, appAppleID: app.appAppleID)],
                environments: nil,
                roots: [try TrustedRoot(authority.root, environments: nil)]
            )
        )
    }

    /// The settings of a worker that uses the database, trusts these receipts and makes no outbound calls.
    func workerSettings(database: String, of cluster: BenchmarkCluster) throws -> [String: String] {
        let root = try cluster.write(authority.root.pem, to: "receipt-root.pem")
        let app = SimulatedTraffic.app
        return [
            "DATABASE_URL": cluster.url(database, user: "appstore_worker"), "APPS": "\(app.bundleID):\(app.appAppleID ?? 0)",
            "EXTRA_ROOTS": "\(root):Production", "VERIFY_RECEIPT": "local", "LOG_LEVEL": "info", "LOG_FORMAT": "text",
        ]
    }
}
