/// The store from which the customer has the app.
package struct StoreType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let consumer = StoreType(rawValue: "CONSUMER")

    package static let known: Set = [consumer]
}
