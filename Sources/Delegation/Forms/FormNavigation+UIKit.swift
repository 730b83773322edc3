#if canImport(UIKit) && !os(watchOS)
    public import UIKit

    extension UITextField: FormField {
        public func focus() { becomeFirstResponder() }
        public func blur() { resignFirstResponder() }
    }

    /// A view controller needs only `exitIdentifier`, and a call from its text field delegate:
    ///
    /// ```swift
    /// func textFieldShouldReturn(_ field: UITextField) -> Bool { textFieldDidReturn(field) }
    /// ```
    extension FormNavigation where Self: UIViewController, Field == UITextField {
        /// The text fields in the view that have a tag.
        public var fields: [UITextField] { view.taggedTextFields }

        /// Performs the segue.
        public func exit(by identifier: String) { performSegue(withIdentifier: identifier, sender: self) }

        /// Call this in `textFieldShouldReturn` of `UITextFieldDelegate`, and return its result.
        public func textFieldDidReturn(_ field: UITextField) -> Bool {
            advance(from: field)
            return false
        }
    }

    extension UIView {
        fileprivate var taggedTextFields: [UITextField] {
            subviews.flatMap { view in
                (view as? UITextField).map { $0.tag > 0 ? [$0] : [] } ?? view.taggedTextFields
            }
        }
    }
#endif
