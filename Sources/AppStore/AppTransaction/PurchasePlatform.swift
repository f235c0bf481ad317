/// The platform on which the customer first bought the app.
package struct PurchasePlatform: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let iOS = PurchasePlatform(rawValue: "iOS")
    package static let macOS = PurchasePlatform(rawValue: "macOS")
    package static let tvOS = PurchasePlatform(rawValue: "tvOS")
    package static let visionOS = PurchasePlatform(rawValue: "visionOS")

    package static let known: Set = [iOS, macOS, tvOS, visionOS]
}
