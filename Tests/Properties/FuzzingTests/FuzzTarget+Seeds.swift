import AppStore
import OpenSSL
import StoreSimulator

extension FuzzTarget {
    /// Inputs that the reader accepts, to begin with.
    func seeds() throws -> [[UInt8]] {
        let jws = try Self.notification()
        let header = try CompactJWS(jws)
        switch self {
        case .json: return [Array(#"{"a":[1,-2.5e+3,true,false,null,"\u00e9\ud83d\ude00\n\"é"],"b":{"":{}}}"#.utf8), header.payload]
        case .jws: return [jws]
        case .header: return [Base64URL.decode(header.headerSegment) ?? []]
        case .certificate: return try header.decodeHeader().x5c + [Self.receiptAuthority.get().root.der]
        case .receipt:
            return try ReceiptEncoding.allCases.map { encoding in
                try ReceiptSigner(authority: Self.receiptAuthority.get(), encoding: encoding).sign(Self.appReceipt)
            }
        case .content: return [Self.appReceipt.encoded]
        case .body:
            let legacy = #"{"notification_type":"DID_RENEW","password":"a\"b","bid":"a.b","latest_receipt_info":{"bid":"c.d"}}"#
            return [Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8), Array(legacy.utf8)]
        }
    }

    /// The JWS of a notification.
    private static func notification() throws -> [UInt8] {
        let app = SimulatedApp(bundleID: "com.example.app", appAppleID: 1)
        let signer = NotificationSigner(authority: try TestAuthority.generate(AuthorityOptions(around: made)))
        return try signer.sign(NotificationTrigger(NotificationKind(.didRenew), app: app, now: made, seed: 1).notification()).jws
    }

    private static let made = Timestamp(millisecondsSince1970: 1_735_689_600_000)
    private static let receiptAuthority = Result { try ReceiptAuthority.generate(AuthorityOptions(around: made)) }

    private static var appReceipt: AppReceipt {
        var receipt = AppReceipt()
        receipt.receiptType = .production
        receipt.bundleID = "com.example.app"
        receipt.bundleIDBytes = [0x0c, 15] + Array("com.example.app".utf8)
        receipt.creationDate = made
        var purchase = InAppPurchase()
        purchase.quantity = 1
        purchase.productID = "com.example.app.plus"
        purchase.transactionID = "350000000000001"
        purchase.purchaseDate = made
        purchase.expiresDate = made
        purchase.isTrialPeriod = true
        receipt.purchases = [purchase]
        receipt.otherAttributes = [ReceiptAttribute(type: 9, value: [0x02, 0x01, 0x07])]
        return receipt
    }
}
