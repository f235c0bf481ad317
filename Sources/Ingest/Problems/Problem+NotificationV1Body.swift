import AppStore
import HTTPServing

extension Problem {
    /// Says what keeps a body from being a notification V1.
    init(_ refusal: NotificationV1Body.Refusal) {
        self =
            switch refusal {
            case .notJSON: .notJSON
            case .notAnObject: .notAnObject
            case .noNotificationType: .noNotificationType
            }
    }
}
