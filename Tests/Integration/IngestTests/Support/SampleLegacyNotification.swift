import AppStoreVerification

/// Sample requests with notifications V1.
enum SampleLegacyNotification {
    static let path = "/apple/v1/notifications"
    static let app = "com.example.tides"
    static let otherApp = "com.example.dunes"
    /// Two secrets of one app and one of another.
    static let secrets = SharedSecrets([app: ["new-secret-of-tides", "old-secret-of-tides"], otherApp: ["secret-of-dunes"]])

    /// A body of realistic size, unique by its number.
    ///
    /// - Parameter password: the value as JSON; nil leaves the member out.
    static func body(
        _ number: Int = 0,
        password: String? = #""new-secret-of-tides""#,
        app: String? = app,
        bytes: Int = 30_000
    ) -> String {
        let receipt = String(repeating: "QUJD", count: bytes / 4)
        let members = [
            #""notification_type":"DID_RENEW""#, password.map { #""password":\#($0)"# }, app.map { #""bid":"\#($0)""# },
            #""unified_receipt":{"status":0,"latest_receipt":"\#(receipt)\#(number)"}"#,
        ]
        return "{\(members.compactMap(\.self).joined(separator: ","))}"
    }

    /// A body of exactly that many bytes.
    static func body(ofBytes bytes: Int) -> String {
        let (empty, member) = (body(bytes: 0), #""latest_receipt":""#)
        return empty.replacing(member, with: member + String(repeating: "A", count: bytes - empty.utf8.count))
    }

    /// A request that posts a body as Apple does.
    static func post(_ body: String) -> String { SampleNotification.post(body, to: path) }
}
