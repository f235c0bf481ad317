import AppStore
import HTTPServing

extension Problem {
    /// The answer for a body that is not a notification V1.
    init(_ refusal: NotificationV1Body.Refusal) {
        self =
            switch refusal {
            case .notJSON: .notJSON
            case .notAnObject: .notAnObject
            case .noNotificationType: .noNotificationType
            }
    }
}
