import AppStore
import EndToEndTesting
import Foundation
import OpenSSL
import StoreSimulator
import StrictJSON

/// A shop whose customers buy with StoreKit 1, and the authority that signs their receipts.
struct LegacyShop {
    static let notifications = "/apple/v1/notifications"

    var shop: Shop
    private let signer: ReceiptSigner

    init() throws {
        shop = try Shop()
        signer = ReceiptSigner(authority: try Self.authority.get())
    }

    private static let authority = Result {
        try ReceiptAuthority.generate(.longLived(around: Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))))
    }

    /// The customer's receipt as the app holds it, in base64.
    func receipt(of life: CustomerLife) throws -> (receipt: AppReceipt, text: String) {
        let transactions = life.oneTimeCharges + (life.subscription?.transactions ?? [])
        let receipt = SimulatedReceipt.receipt(of: shop.app, holding: transactions, madeAt: life.now)
        return (receipt, try signer.base64(receipt))
    }

    /// The notification V1 about the customer's state.
    func notification(_ type: NotificationTypeV1, of life: CustomerLife, password: String) throws -> JSONObject {
        let (receipt, text) = try receipt(of: life)
        var answer = VerifyReceiptAnswer(
            app: shop.app,
            receipt: receipt,
            requestDate: life.now,
            transactions: life.subscription?.transactions
        )
        answer.renewals = [life.subscription?.renewalInfo].compactMap(\.self)
        answer.latestReceipt = text
        return SimulatedNotificationV1(type: type, password: password, answer: answer).body
    }

    /// Starts a worker that trusts both authorities and makes no calls to Apple.
    func startWorker(in installation: Installation, _ settings: [String: String] = [:]) async throws -> Daemon {
        let path = installation.folder.appending(path: "receipt-root.pem")
        try Data(signer.authority.root.pem.utf8).write(to: path)
        let roots = [try installation.rootPath(of: shop), path.path].map { "\($0):Production+Sandbox" }.joined(separator: ",")
        let own = ["APPSTORE_INBOX_EXTRA_ROOTS": roots, "APPSTORE_INBOX_VERIFY_RECEIPT": "local"]
        return try await installation.startWorker(for: shop, own.merging(settings) { $1 })
    }
}

extension HTTPClient {
    /// Posts a body to the address of notifications V1.
    func postLegacy(_ body: [UInt8]) async throws -> HTTPAnswer {
        try await connected { connection in
            try connection.exchange("POST", LegacyShop.notifications, fields: ["content-type": "application/json"], body: body)
        }
    }
}
