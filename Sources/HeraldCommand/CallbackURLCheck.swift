import Herald
import Webhooks

/// Judges the URL of a registration: its form, and the address when it names one. Names are judged when they are dialled.
enum CallbackURLCheck {
    static func check(_ text: String, _ addressGuard: AddressGuard) -> Result<String, FieldError> {
        do throws(CallbackURLError) {
            let url = try CallbackURL(text)
            if case .refused(let rule) = addressGuard.judge(url) {
                return .failure(FieldError("/url", "is an address that callbacks must not reach: \(rule)"))
            }
            return .success(url.text)
        } catch {
            return .failure(FieldError("/url", error.description))
        }
    }
}
