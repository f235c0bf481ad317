/// The platform on which the customer first bought the app.
package struct PurchasePlatform: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}
